// Physical floors that need no server: floors spawn COUNT | pty MIB | pipe MIB
#define _GNU_SOURCE
#include <fcntl.h>
#include <pty.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_ms(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static int compare(const void *left, const void *right) {
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* Prints p50 and p99 in microseconds. */
static int measure_spawn(long count) {
	double *times = malloc(count * sizeof *times);
	char *argv[] = {"/bin/true", NULL};
	for (long index = 0; index < count; index++) {
		pid_t child;
		int status;
		double began = now_ms();
		if (posix_spawn(&child, argv[0], NULL, NULL, argv, environ)) return 1;
		waitpid(child, &status, 0);
		times[index] = now_ms() - began;
	}
	qsort(times, count, sizeof *times, compare);
	printf("%.1f %.1f\n", times[count / 2] * 1e3, times[count * 99 / 100] * 1e3);
	return 0;
}

static void exec_head(char *bytes) {
	char *argv[] = {"head", "-c", bytes, "/dev/zero", NULL};
	execvp(argv[0], argv);
	_exit(127);
}

/* Prints MiB/s, bytes per read and bytes that are missing. */
static int measure_read(int is_pty, long mebibytes) {
	static char buffer[65536];
	char bytes[32];
	long long wanted = (long long)mebibytes << 20, got = 0, reads = 0;
	int descriptor;
	ssize_t size;
	snprintf(bytes, sizeof bytes, "%lld", wanted);
	double began = now_ms();
	if (is_pty) {
		pid_t child = forkpty(&descriptor, NULL, NULL, NULL);
		if (child < 0) return 1;
		if (child == 0) exec_head(bytes);
	} else {
		int ends[2];
		if (pipe(ends)) return 1;
		if (fork() == 0) {
			dup2(ends[1], 1);
			close(ends[0]);
			close(ends[1]);
			exec_head(bytes);
		}
		close(ends[1]);
		descriptor = ends[0];
	}
	while ((size = read(descriptor, buffer, sizeof buffer)) > 0) {
		got += size;
		reads++;
	}
	double ms = now_ms() - began;
	printf("%.1f %.0f %lld\n", got / 1048576.0 / (ms / 1e3), (double)got / reads, wanted - got);
	while (wait(NULL) > 0) continue;
	return 0;
}

int main(int argc, char **argv) {
	if (argc < 3) return 2;
	long number = atol(argv[2]);
	if (!strcmp(argv[1], "spawn")) return measure_spawn(number);
	return measure_read(!strcmp(argv[1], "pty"), number);
}
