#!/bin/sh
# Run once by PostgreSQL's image, on a new cluster: the owner of the tables, who is no superuser, and the database.
set -eu
export OWNER_PASSWORD_FILE="${OWNER_PASSWORD_FILE:-/run/secrets/owner_password}"
psql --no-psqlrc --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
SET log_min_error_statement = panic; -- a password stays out of the log, also where its statement fails
SET log_statement = none;
\set password `cat "$OWNER_PASSWORD_FILE"`
CREATE ROLE tic_owner LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE tic OWNER tic_owner;
SQL
