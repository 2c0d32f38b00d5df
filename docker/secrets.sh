#!/bin/sh
# Make the secrets that compose.yaml hands to its services, each once: what is there already stays as it is.
#
#     docker/secrets.sh NAME [FOLDER]
#
# NAME is the log's, for ever: a URL without its scheme, such as tic.example/log. FOLDER is docker/secrets if left out.
# TIC is the command `tic`, which makes the keys; it is called in the folder.
set -eu
name=${1:?usage: docker/secrets.sh NAME [FOLDER]: NAME is the log\'s for ever, such as tic.example/log}
folder=${2:-$(dirname "$0")/secrets}
tic=${TIC:-tic}
host=${TIC_POSTGRES_HOST:-postgres}

# Only the owner comes into the folder. The files in it can be read by all, for a container sees the file alone, as an
# account of its own.
umask 077
mkdir -p "$folder/server"
cd "$folder"
chmod 0700 .
chmod 0755 server

keep() { # FILE: write the standard input to it, whole or not at all, unless it is there
  draft=$(mktemp ./.draft.XXXXXX)
  cat >"$draft"
  chmod 0444 "$draft"
  if ln "$draft" "$1" 2>/dev/null; then echo "made     $folder/$1"; else echo "is there $folder/$1"; fi
  rm -f "$draft"
}

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; } # hexadecimal: it needs no escaping in a URL

for role in postgres owner app; do
  random | keep "$role.password"
done
for role in owner app; do
  printf 'postgresql://tic_%s:%s@%s:5432/tic\n' "$role" "$(cat "$role.password")" "$host" | keep "$role.url"
done
if [ -e server/server.key ]; then
  echo "is there $folder/server/server.key"
else
  $tic key new --output server/server.key
  echo "made     $folder/server/server.key: keep a copy of it elsewhere"
fi
if [ -e log.key ]; then
  echo "is there $folder/log.key"
else
  echo "made     $folder/log.key: keep a copy of it elsewhere. Publish what verifies its checkpoints:"
  $tic log key new --name "$name" --output log.key
fi
chmod 0444 server/server.key log.key
