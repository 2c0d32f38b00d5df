"""Tickle: two to six players lay cards into one grid."""
