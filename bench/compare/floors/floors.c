/*
 * Physical floors that need no server: what a C program reaches that does the least a server has to do.
 *   spawn COUNT | burst COUNT FLIGHT | stop COUNT | round COUNT | keys pipe|pty COUNT | connect COUNT
 *   pipe MIB | pty MIB | relay pipe|pty|socket MIB | relay FILE MIB | store FILE MIB
 *   files FOLDER COUNT | stat FOLDER COUNT | list FOLDER | walk FOLDER
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEBIBYTE (1L << 20)
#define BLOCK (256 * 1024)
#define LISTINGS 20
/* About the size of a request for the status. */
#define MESSAGE 64
/* Small files of the fixture. */
#define SMALL 1024

extern char **environ;
static char block[BLOCK * 2];

static double now_ms(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void require(int isTrue, const char *what) {
	if (isTrue) return;
	perror(what);
	exit(1);
}

static int compare(const void *left, const void *right) {
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static double middle(double *times, long count) {
	qsort(times, count, sizeof *times, compare);
	return times[count / 2];
}

/* Whole or nothing: 0 at the end of the stream. */
static int read_all(int descriptor, char *target, long size) {
	for (long got = 0; got < size;) {
		ssize_t step = read(descriptor, target + got, size - got);
		if (step <= 0) return 0;
		got += step;
	}
	return 1;
}

static void write_all(int descriptor, const char *source, long size) {
	for (long sent = 0; sent < size;) {
		ssize_t step = write(descriptor, source + sent, size - sent);
		require(step > 0, "write");
		sent += step;
	}
}

static int listener(struct sockaddr_in *address) {
	socklen_t size = sizeof *address;
	int descriptor = socket(AF_INET, SOCK_STREAM, 0);
	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	require(!bind(descriptor, (struct sockaddr *)address, size) && !listen(descriptor, 512), "listen");
	getsockname(descriptor, (struct sockaddr *)address, &size);
	return descriptor;
}

static int without_delay(int descriptor) {
	int on = 1;
	setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return descriptor;
}

static int connected(const struct sockaddr_in *address) {
	int descriptor = socket(AF_INET, SOCK_STREAM, 0);
	require(!connect(descriptor, (const struct sockaddr *)address, sizeof *address), "connect");
	return without_delay(descriptor);
}

/* Two ends of a TCP connection over loopback. */
static void connection(int ends[2]) {
	struct sockaddr_in address;
	int listening = listener(&address);
	ends[0] = connected(&address);
	ends[1] = without_delay(accept(listening, NULL, NULL));
	close(listening);
}

static pid_t spawn(char *const argv[]) {
	pid_t child;
	require(!posix_spawnp(&child, argv[0], NULL, NULL, argv, environ), "spawn");
	return child;
}

static char *const TRUE_ARGV[] = {"/bin/true", NULL};
static char *const SLEEP_ARGV[] = {"sleep", "60", NULL};
static char *const CAT_ARGV[] = {"cat", NULL};

static void measure_spawn(long count) {
	double *times = malloc(count * sizeof *times);
	for (long index = 0; index < count; index++) {
		double began = now_ms();
		waitpid(spawn(TRUE_ARGV), NULL, 0);
		times[index] = now_ms() - began;
	}
	printf("%.1f\n", middle(times, count) * 1e3);
}

static void measure_burst(long count, long flight) {
	double began = now_ms();
	for (long started = 0, running = 0; started < count || running > 0;) {
		while (started < count && running < flight) spawn(TRUE_ARGV), started++, running++;
		if (wait(NULL) > 0) running--;
	}
	printf("%.1f\n", count / ((now_ms() - began) / 1e3));
}

static void measure_stop(long count) {
	pid_t *children = malloc(count * sizeof *children);
	for (long index = 0; index < count; index++) children[index] = spawn(SLEEP_ARGV);
	usleep(200 * 1000);
	double began = now_ms();
	for (long index = 0; index < count; index++) kill(children[index], SIGKILL);
	while (wait(NULL) > 0) continue;
	printf("%.1f\n", now_ms() - began);
}

static void measure_round(long count) {
	double *times = malloc(count * sizeof *times);
	int ends[2];
	connection(ends);
	if (fork() == 0) {
		close(ends[0]);
		while (read_all(ends[1], block, MESSAGE)) write_all(ends[1], block, MESSAGE);
		_exit(0);
	}
	close(ends[1]);
	for (long index = 0; index < count; index++) {
		double began = now_ms();
		write_all(ends[0], block, MESSAGE);
		require(read_all(ends[0], block, MESSAGE), "read");
		times[index] = now_ms() - began;
	}
	printf("%.1f\n", middle(times, count) * 1e3);
}

/* Starts a program with both ends in the hands of the caller: [0] is read, [1] is written. */
static void start_with_ends(char *const argv[], int isTerminal, int ends[2]) {
	if (isTerminal) {
		pid_t child = forkpty(&ends[0], NULL, NULL, NULL);
		if (child == 0) execvp(argv[0], argv), _exit(127);
		ends[1] = ends[0];
		return;
	}
	int in[2], out[2];
	require(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC), "pipe");
	if (fork() == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	ends[0] = out[0];
	ends[1] = in[1];
}

/* A keystroke from a client through a server to `cat` and back. */
static void measure_keys(int isTerminal, long count) {
	double *times = malloc(count * sizeof *times);
	const int echoed = isTerminal ? 6 : 2;
	int ends[2], cat[2];
	connection(ends);
	if (fork() == 0) {
		close(ends[0]);
		start_with_ends(CAT_ARGV, isTerminal, cat);
		while (read_all(ends[1], block, MESSAGE)) {
			write_all(cat[1], "k\n", 2);
			require(read_all(cat[0], block, echoed), "echo");
			write_all(ends[1], block, MESSAGE);
		}
		_exit(0);
	}
	close(ends[1]);
	for (long index = 0; index < count; index++) {
		double began = now_ms();
		write_all(ends[0], block, MESSAGE);
		require(read_all(ends[0], block, MESSAGE), "read");
		times[index] = now_ms() - began;
	}
	printf("%.1f\n", middle(times, count) * 1e3);
}

/* Connections one after the other, each with two messages there and back, as a handshake has. */
static void measure_connect(long count) {
	struct sockaddr_in address;
	int listening = listener(&address);
	if (fork() == 0) {
		for (long index = 0; index < count; index++) {
			int peer = without_delay(accept(listening, NULL, NULL));
			for (int turn = 0; turn < 2; turn++)
				if (read_all(peer, block, MESSAGE)) write_all(peer, block, MESSAGE);
		}
		_exit(0);
	}
	double began = now_ms();
	for (long index = 0; index < count; index++) {
		int peer = connected(&address);
		for (int turn = 0; turn < 2; turn++) {
			write_all(peer, block, MESSAGE);
			read_all(peer, block, MESSAGE);
		}
	}
	printf("%.1f\n", now_ms() - began);
}

/* A descriptor that gives so many bytes: the output of `head`, a stream of a peer, or a file. */
static int source_of(const char *kind, long mebibytes) {
	static char size[32];
	char *argv[] = {"head", "-c", size, "/dev/zero", NULL};
	int ends[2];
	snprintf(size, sizeof size, "%ld", mebibytes * MEBIBYTE);
	if (!strcmp(kind, "pipe") || !strcmp(kind, "pty")) {
		start_with_ends(argv, !strcmp(kind, "pty"), ends);
		if (ends[0] != ends[1]) close(ends[1]);
		return ends[0];
	}
	if (strcmp(kind, "socket")) return open(kind, O_RDONLY);
	connection(ends);
	if (fork() == 0) {
		close(ends[1]);
		for (long left = mebibytes * MEBIBYTE; left > 0; left -= BLOCK) write_all(ends[0], block, BLOCK);
		_exit(0);
	}
	close(ends[0]);
	return ends[1];
}

/* MiB/s, bytes per read and bytes that are missing. */
static void measure_read(const char *kind, long mebibytes) {
	long long got = 0, reads = 0;
	double began = now_ms();
	int source = source_of(kind, mebibytes);
	for (ssize_t size; (size = read(source, block, 65536)) > 0; reads++) got += size;
	double ms = now_ms() - began;
	printf("%.1f %.0f %lld\n", got / 1048576.0 / (ms / 1e3), (double)got / reads, (long long)mebibytes * MEBIBYTE - got);
}

/* MiB/s from a source through a server to a client, with a third more bytes on the way, as base64 has. */
static void measure_relay(const char *kind, long mebibytes) {
	int ends[2];
	long long got = 0;
	connection(ends);
	double began = now_ms();
	if (fork() == 0) {
		close(ends[0]);
		int source = source_of(kind, mebibytes);
		for (ssize_t size; (size = read(source, block, BLOCK)) > 0;) write_all(ends[1], block, size * 4 / 3);
		_exit(0);
	}
	close(ends[1]);
	for (ssize_t size; (size = read(ends[0], block, BLOCK)) > 0;) got += size;
	printf("%.1f\n", got * 0.75 / 1048576.0 / ((now_ms() - began) / 1e3));
}

/* MiB/s of a file that comes from a client as base64 would and is answered when it is written. */
static void measure_store(const char *path, long mebibytes) {
	int ends[2];
	long size = mebibytes * MEBIBYTE;
	connection(ends);
	if (fork() == 0) {
		close(ends[0]);
		char *content = malloc(size * 4 / 3);
		while (read_all(ends[1], content, size * 4 / 3)) {
			int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
			write_all(file, content, size);
			close(file);
			write_all(ends[1], content, MESSAGE);
		}
		_exit(0);
	}
	close(ends[1]);
	char *content = calloc(size, 4 / 3 + 1);
	double ms = 0;
	for (int turn = 0; turn < 2; turn++) {
		double began = now_ms();
		write_all(ends[0], content, size * 4 / 3);
		require(read_all(ends[0], block, MESSAGE), "answer");
		ms = now_ms() - began;
	}
	unlink(path);
	printf("%.1f\n", mebibytes / (ms / 1e3));
}

static void measure_files(const char *folder, long count, int isRead) {
	char path[4096];
	struct stat found;
	double began = now_ms();
	for (long index = 0; index < count; index++) {
		snprintf(path, sizeof path, "%s/f%ld", folder, index);
		if (!isRead) {
			require(!lstat(path, &found), path);
			continue;
		}
		int file = open(path, O_RDONLY);
		require(file >= 0 && !fstat(file, &found) && read(file, block, SMALL + 1) == SMALL, path);
		close(file);
	}
	printf("%.0f\n", count / ((now_ms() - began) / 1e3));
}

static long list(const char *folder, int isDeep) {
	char path[4096];
	long count = 0;
	DIR *directory = opendir(folder);
	require(directory != NULL, folder);
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (entry->d_name[0] == '.') continue;
		count++;
		if (!isDeep || entry->d_type != DT_DIR) continue;
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		count += list(path, 1);
	}
	closedir(directory);
	return count;
}

static void measure_list(const char *folder, int isDeep) {
	double times[LISTINGS];
	for (int turn = 0; turn < LISTINGS; turn++) {
		double began = now_ms();
		list(folder, isDeep);
		times[turn] = now_ms() - began;
	}
	printf("%.3f\n", middle(times, LISTINGS));
}

int main(int argc, char **argv) {
	if (argc < 3) return 2;
	const char *what = argv[1], *first = argv[2];
	long number = atol(argv[argc - 1]);
	signal(SIGCHLD, SIG_DFL);
	if (!strcmp(what, "spawn")) measure_spawn(number);
	else if (!strcmp(what, "burst")) measure_burst(atol(first), number);
	else if (!strcmp(what, "stop")) measure_stop(number);
	else if (!strcmp(what, "round")) measure_round(number);
	else if (!strcmp(what, "keys")) measure_keys(!strcmp(first, "pty"), number);
	else if (!strcmp(what, "connect")) measure_connect(number);
	else if (!strcmp(what, "pipe") || !strcmp(what, "pty")) measure_read(what, number);
	else if (!strcmp(what, "relay")) measure_relay(first, number);
	else if (!strcmp(what, "store")) measure_store(first, number);
	else if (!strcmp(what, "files")) measure_files(first, number, 1);
	else if (!strcmp(what, "stat")) measure_files(first, number, 0);
	else if (!strcmp(what, "list")) measure_list(first, 0);
	else if (!strcmp(what, "walk")) measure_list(first, 1);
	else return 2;
	return 0;
}
