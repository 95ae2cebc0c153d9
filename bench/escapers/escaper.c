// Forks, becomes the leader of a session and leaves its parent, again and again, so that each process lives for some
// microseconds. Every one of them counts up a number in a shared file: the number stands still once all are dead. A second
// number in the file is the id of a process with which they end.
//   escaper FILE KIND CHAINS leaves|stays      what the first process does after it has started the chains
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES 65536

static volatile long *count;
static char **arguments;
static char stacks[2][STACK_BYTES];

// A chain that nobody ends must not use up the process ids of the machine: from this number on its processes wait.
#define MAX_FAST 10000
#define WAIT_MICROSECONDS 20000

static void step(void) {
	if (__atomic_fetch_add(count, 1, __ATOMIC_RELAXED) >= MAX_FAST) usleep(WAIT_MICROSECONDS);
	if (kill(count[1], 0) != 0 && errno == ESRCH) syscall(SYS_exit_group, 0);
}

// A failed fork is tried again: the machine may have no process left for a moment.
static pid_t fork_for_sure(void) {
	for (;;) {
		pid_t pid = fork();
		if (pid >= 0) return pid;
	}
}

static void run_sessions(void) {
	for (;;) {
		if (fork_for_sure()) _exit(0);
		setsid();
		step();
	}
}

static void run_daemons(void) {
	for (;;) {
		if (fork_for_sure()) _exit(0);
		setsid();
		if (fork_for_sure()) _exit(0);
		step();
	}
}

static void run_groups(void) {
	for (;;) {
		if (fork_for_sure()) _exit(0);
		setpgid(0, 0);
		step();
	}
}

// Another name, no descriptors, and a different time of life each.
static void run_disguised(void) {
	char name[16];
	for (unsigned n = 0;; n++) {
		if (fork_for_sure()) _exit(0);
		setsid();
		snprintf(name, sizeof name, ") S %u (", n);
		prctl(PR_SET_NAME, name);
		closefrom(0);
		step();
		if (n % 7 == 0) usleep(n % 300);
	}
}

// Children share the memory of their parent: nothing is copied, so that a process lives for a few microseconds only.
static int share_memory(void *number) {
	long n = (long)number;
	setsid();
	step();
	while (clone(share_memory, stacks[n % 2] + STACK_BYTES, CLONE_VM, (void *)(n + 1)) < 0) continue;
	syscall(SYS_exit_group, 0);
	return 0;
}

static void *run_thread(void *nothing) {
	// The first thread is gone: the process looks like a zombie.
	usleep(20);
	if (fork_for_sure()) _exit(0);
	setsid();
	step();
	for (;;) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, run_thread, NULL) == 0) syscall(SYS_exit, 0);
	}
	return nothing;
}

// Each runs the program anew, with an empty environment.
static void run_programs(void) {
	if (fork_for_sure()) _exit(0);
	setsid();
	step();
	char *nothing[] = {NULL};
	char *again[] = {arguments[0], arguments[1], "programs", "0", "leaves", NULL};
	execve("/proc/self/exe", again, nothing);
	_exit(1);
}

static void run(const char *kind) {
	if (!strcmp(kind, "sessions")) run_sessions();
	if (!strcmp(kind, "daemons")) run_daemons();
	if (!strcmp(kind, "groups")) run_groups();
	if (!strcmp(kind, "disguised")) run_disguised();
	if (!strcmp(kind, "memory")) share_memory((void *)0);
	if (!strcmp(kind, "threads")) run_thread(NULL);
	if (!strcmp(kind, "programs")) run_programs();
	_exit(2);
}

int main(int argc, char **argv) {
	if (argc != 5) return 2;
	arguments = argv;
	int file = open(argv[1], O_RDWR);
	if (file < 0) return 1;
	count = mmap(NULL, 2 * sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (count == MAP_FAILED) return 1;
	int chains = atoi(argv[3]);
	if (chains == 0) run(argv[2]);
	// The program that reaps these processes must keep up, or the machine has no process ids left.
	if (nice(10) == -1) return 1;
	for (int n = 0; n < chains; n++)
		if (fork() == 0) {
			setsid();
			run(argv[2]);
		}
	if (!strcmp(argv[4], "leaves")) return 0;
	for (;;) pause();
}
