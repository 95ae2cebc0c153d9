import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {isInstalled, unless} from '../helpers/needs.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';

interface BenchServer {
	start(): Promise<void>;
	connect(): Promise<unknown>;
	stop(): Promise<void>;
	rssMain(): number;
	rssTree(): number;
}

type ServerClass = new (
	spec: {name: string; cmd: string; kind: 'stdio'},
	environment: NodeJS.ProcessEnv,
) => BenchServer;

const BENCH = new URL('../../bench/', import.meta.url);
const {Server} = (await import(new URL('compare/lib/server.mjs', BENCH).href)) as {Server: ServerClass};
const {childrenOf, commandOf} = (await import(new URL('lib/proc.mjs', BENCH).href)) as {
	childrenOf: (pid: number) => number[];
	commandOf: (pid: number) => string;
};

/** Number of the system call on x64. */
const VFORK = 58;
const canVfork = process.arch === 'x64' && existsSync('/proc/self/stat') && isInstalled('perl');
const needsVfork = unless(canVfork ? undefined : 'it takes perl, /proc, and the number of a system call of x64');

const PROGRAM = String.raw`
	open(my $file, ">", $ARGV[0]); print $file $$; close $file;
	$| = 1;
	$SIG{USR1} = sub { if (syscall(${VFORK}) == 0) { sleep 1000 } };
	$SIG{USR2} = sub { if (fork() == 0) { exec("perl", "-e", "sleep 1000") } };
	while (<STDIN>) { print "{\"id\":$1,\"result\":{}}\n" if /"id":(\d+)/ }
`;

/** A server that starts children at signals, and its pid. */
async function startServer(): Promise<{server: BenchServer; pid: number}> {
	const pidFile = join(scratchDirectory(), 'pid');
	const server = new Server({name: 'perl', cmd: `exec perl -e '${PROGRAM}' ${pidFile}`, kind: 'stdio'}, process.env);
	onTestFinished(() => server.stop());
	await server.start();
	await server.connect();
	return {server, pid: Number(readFileSync(pidFile, 'utf8'))};
}

test('the memory of a server is not counted again for a child that is not yet a program', needsVfork, async () => {
	const {server, pid} = await startServer();
	process.kill(pid, 'SIGUSR1');
	await eventually(() => childrenOf(pid).length === 1);
	expect(server.rssTree()).toBe(server.rssMain());
});

test('the memory of a helper with the executable of the server is counted', needsVfork, async () => {
	const {server, pid} = await startServer();
	process.kill(pid, 'SIGUSR2');
	await eventually(() => childrenOf(pid).some(child => commandOf(child) === 'perl -e sleep 1000'));
	expect(server.rssTree()).toBeGreaterThan(server.rssMain());
});
