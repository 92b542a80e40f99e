// Stands before DuckDB's library: a statement waits for the test before it runs, while the file `hold` in the folder has a part
// of its text. The first such statement makes the file `held`; when its connection ends later there is the file `ended`.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *held_connection;

static int make_file(const char *name) {
  const int file = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (file < 0) return 0;
  close(file);
  return 1;
}

static int is_held(const char *sql) {
  char part[256];
  FILE *hold = fopen(FOLDER "/hold", "r");
  if (hold == NULL) return 0;
  part[fread(part, 1, sizeof part - 1, hold)] = '\0';
  fclose(hold);
  return part[0] != '\0' && strstr(sql, part) != NULL;
}

static void wait_if_held(void *connection, const char *sql) {
  if (!is_held(sql) || !make_file(FOLDER "/held")) return;
  held_connection = connection;
  while (is_held(sql)) usleep(1000);
}

int duckdb_query(void *connection, const char *sql, void *result) {
  int (*const next)(void *, const char *, void *) = dlsym(RTLD_NEXT, "duckdb_query");
  wait_if_held(connection, sql);
  return next(connection, sql, result);
}

int duckdb_prepare(void *connection, const char *sql, void **statement) {
  int (*const next)(void *, const char *, void **) = dlsym(RTLD_NEXT, "duckdb_prepare");
  wait_if_held(connection, sql);
  return next(connection, sql, statement);
}

void duckdb_disconnect(void **connection) {
  void (*const next)(void **) = dlsym(RTLD_NEXT, "duckdb_disconnect");
  const int was_held = connection != NULL && *connection != NULL && *connection == held_connection;
  next(connection);
  if (was_held) make_file(FOLDER "/ended");
}
