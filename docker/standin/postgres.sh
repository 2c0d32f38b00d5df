#!/bin/sh
# What compose.yaml asks of the entry point of PostgreSQL's image: a new cluster is set up, then the server runs.
set -eu
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"
  chown postgres "$PGDATA"
  chmod 0700 "$PGDATA"
  POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
  export POSTGRES_PASSWORD
  exec setpriv --reuid postgres --regid postgres --clear-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # shellcheck disable=SC2086 # several arguments
  printf %s "$POSTGRES_PASSWORD" | initdb --username=postgres --pwfile=/dev/stdin --auth-local=trust \
    --auth-host=scram-sha-256 --no-instructions $POSTGRES_INITDB_ARGS
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  pg_ctl start --wait --options "-c listen_addresses=''"
  for script in /docker-entrypoint-initdb.d/*.sh; do
    "$script"
  done
  pg_ctl stop --wait --mode fast
fi
unset POSTGRES_PASSWORD
exec "$@" -c "listen_addresses=*"
