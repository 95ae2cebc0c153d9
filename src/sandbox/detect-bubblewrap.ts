import {spawnSync} from 'node:child_process';
import {closeSync, existsSync} from 'node:fs';
import {join} from 'node:path';
import {isExecutable} from '../shared/node/access.js';
import {
	bubblewrapArguments,
	bubblewrapVariables,
	listEmptyDescriptors,
	listHeldPaths,
	MASKED_PROC_FILES,
	requireFewArguments,
	type SandboxHelpers,
} from './bubblewrap.js';
import {type Enforcer, Trial} from './enforcer.js';
import {seccompFilter} from './seccomp-filter.js';
import {findTrustedProgram} from './trusted-program.js';
import {openUnnamedContent} from './unnamed-content.js';
import {areUserNamespacesForbidden} from './user-namespaces.js';

/** Limit for the trial run, which is done once. */
const TRIAL_TIMEOUT_MS = 5000;
const PROGRAM_DIRECTORIES = ['/usr/bin', '/bin', '/usr/local/bin', '/run/current-system/sw/bin'];
/** Every handshake asks whether it is there: a search that fails costs more than the rest of the reply. */
const MAX_SEARCH_AGE_MS = 5000;
/** Never looked for along a PATH: it runs outside of every sandbox. */
const BUBBLEWRAP_FILES = PROGRAM_DIRECTORIES.map(directory => join(directory, 'bwrap'));

interface Bubblewrap {
	readonly file: string;
	readonly helpers: SandboxHelpers;
}

let working: Bubblewrap | undefined;
let lastSearch: {readonly atMs: number; readonly isFound: boolean} | undefined;

const trial = new Trial(() => {
	const found = findTrustedProgram(BUBBLEWRAP_FILES);
	if ('why' in found) return found.why;
	const {file} = found;
	// Helpers run inside the sandbox.
	const maskedFiles = MASKED_PROC_FILES.filter(path => existsSync(path));
	const [setsid, bash] = ['setsid', 'bash'].map(findHelper);
	const helpers = {setsid, bash, maskedFiles, bindsDescriptors: hasOption(file, '--bind-fd')};
	const failure = tryBubblewrap(file, helpers);
	if (failure !== undefined) return `\`${file}\` does not work: ${failure}`;
	working = {file, helpers};
	return undefined;
});

/** Bubblewrap of this machine. */
export const BUBBLEWRAP_ENFORCER: Enforcer = {
	name: 'bubblewrap',
	describe: () => working?.file ?? 'bubblewrap',
	isLikely: () => (trial.isDone ? trial.findProblem() === undefined : isInstalled() && !areUserNamespacesForbidden()),
	findProblem: () => trial.findProblem(),
	wrap: (plan, command) => {
		const {file, helpers} = working!;
		const argv = [file, ...bubblewrapArguments(plan, command, helpers)];
		requireFewArguments(argv, command);
		const descriptors = [seccompFilter(plan.network), bubblewrapVariables(command)];
		const emptyDescriptors = listEmptyDescriptors(plan);
		return {file, argv, descriptors, emptyDescriptors, heldPaths: listHeldPaths(plan, helpers), hasOwnSession: true};
	},
};

/** Searched for again after a while: it may be installed while the server runs. */
function isInstalled(): boolean {
	const now = performance.now();
	if (!lastSearch || now - lastSearch.atMs > MAX_SEARCH_AGE_MS) {
		lastSearch = {atMs: now, isFound: 'file' in findTrustedProgram(BUBBLEWRAP_FILES)};
	}
	return lastSearch.isFound;
}

/** Returns the reason of the failure; undefined if it works. */
function tryBubblewrap(file: string, helpers: SandboxHelpers): string | undefined {
	const command = {
		program: '/bin/sh',
		args: ['-c', ':'],
		arg0: undefined,
		cwd: '/',
		terminal: false,
		environment: new Map<string, string>(),
	};
	const args = bubblewrapArguments({mounts: [{kind: 'read', path: '/'}], network: 'none'}, command, helpers);
	const descriptors: number[] = [];
	try {
		for (const content of [seccompFilter('none'), bubblewrapVariables(command)])
			descriptors.push(openUnnamedContent(content));
		// Synchronous: the reaper of this process would collect the exit status of an asynchronous child.
		const {status, error, stderr} = spawnSync(file, args, {
			stdio: ['ignore', 'ignore', 'pipe', ...descriptors],
			cwd: '/',
			timeout: TRIAL_TIMEOUT_MS,
			killSignal: 'SIGKILL',
			encoding: 'utf8',
			env: {},
		});
		if (status === 0) return undefined;
		return error?.message ?? (stderr.trim() || `it ended with ${status}`);
	} finally {
		for (const fd of descriptors) closeSync(fd);
	}
}

/** Some versions have options of later ones. */
function hasOption(file: string, option: string): boolean {
	const {stdout} = spawnSync(file, ['--help'], {timeout: TRIAL_TIMEOUT_MS, encoding: 'utf8', env: {}});
	return stdout?.split(/\s+/).includes(option) ?? false;
}

function findHelper(name: string): string | undefined {
	return PROGRAM_DIRECTORIES.map(directory => join(directory, name)).find(isExecutable);
}
