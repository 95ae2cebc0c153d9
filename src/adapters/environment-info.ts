import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {homedir, hostname, tmpdir, userInfo} from 'node:os';
import {basename, resolve} from 'node:path';
import type {EnvironmentInfo} from '../protocol/methods/environment-methods.js';
import {listCapabilities} from '../protocol/methods/method-table.js';
import {PathUri} from '../protocol/path-uri/path-uri.js';
import {isExecutable} from '../shared/node/access.js';
import {instanceId} from '../shared/node/instance-id.js';
import {OTHER_RUNTIME} from '../shared/node/other-runtime.js';
import {VERSION} from '../shared/version.js';

const SHELLS = ['bash', 'zsh', 'sh'];

/** Abilities that depend on the settings of a server. */
export interface EnvironmentAbilities {
	readonly forwardsPorts?: boolean;
	readonly sandboxesFiles?: () => boolean;
	/** Output can be kept on disk. */
	readonly keepsOutput?: boolean;
	readonly keepsProcesses?: () => boolean;
	/** Clients can be connected to the daemon of the user. */
	readonly offersDaemon?: boolean;
	/** The web console is served beside the protocol. */
	readonly servesConsole?: boolean;
}

/** The result of `environment/info` for this machine. */
export function describeEnvironment(
	variables: Readonly<Record<string, string | undefined>>,
	{
		forwardsPorts = false,
		sandboxesFiles = () => false,
		keepsOutput = false,
		keepsProcesses = () => false,
		offersDaemon = false,
		servesConsole = false,
	}: EnvironmentAbilities = {},
): EnvironmentInfo {
	const temporary = variables['TMPDIR'];
	return {
		shell: findShell(),
		cwd: toUri(process.cwd()),
		temporaryDirectories: temporary ? [toUri(temporary)] : [],
		tempDir: toUri(tmpdir()),
		executorVersion: VERSION,
		providerId: `sha256:${createHash('sha256').update(`longarm\0${readMachineId()}`).digest('hex')}`,
		instanceId: instanceId(),
		userHomeDir: findHomeDirectory(),
		platformOs: process.platform === 'darwin' ? 'macos' : process.platform === 'win32' ? 'windows' : process.platform,
		prependPathDirs: [],
		capabilities: {
			...listCapabilities(),
			// Elsewhere children inherit no descriptor that could hold the state of a shell.
			shellSnapshotV2: process.platform === 'linux' && OTHER_RUNTIME === undefined,
			portForward: forwardsPorts,
			// Of the few that may ask for it, the server says so to each.
			serverUpgrade: false,
			localDaemon: offersDaemon,
			processSpill: keepsOutput,
			processRecord: keepsOutput,
			...(servesConsole && {webConsole: true}),
			// A getter, evaluated per reply: the sandbox is probed on first use.
			get sandboxedFileStreaming() {
				return sandboxesFiles();
			},
			get processDurable() {
				return keepsProcesses();
			},
		},
	};
}

/** The user's login shell if a client can use it, else the first usable one. */
function findShell(): {name: string; path: string} {
	const preferred = process.platform === 'darwin' ? ['/bin/zsh', '/bin/bash'] : ['/bin/bash', '/bin/zsh'];
	const usable = [readLoginShell(), ...preferred].find(
		path => path && SHELLS.includes(basename(path)) && isExecutable(path),
	);
	const path = usable ?? '/bin/sh';
	return {name: basename(path), path};
}

function readLoginShell(): string | null {
	try {
		return userInfo().shell;
	} catch {
		// The user id has no entry in the user database, as in some containers.
		return null;
	}
}

function findHomeDirectory(): string | undefined {
	try {
		return homedir() === '' ? undefined : toUri(homedir());
	} catch {
		// The user id has no entry in the user database, and HOME is not set.
		return undefined;
	}
}

function readMachineId(): string {
	try {
		return readFileSync('/etc/machine-id', 'utf8').trim();
	} catch {
		return hostname();
	}
}

function toUri(path: string): string {
	return PathUri.fromNative(resolve(path)).href;
}
