"""TIC Poker: two to eight players make hands of five cards."""
