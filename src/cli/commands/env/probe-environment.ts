import {performance} from 'node:perf_hooks';
import type {ServerDescription} from '../../../client/session/connection.js';
import type {Environment} from '../../../environments/environment.js';
import {withTimeout} from '../../../shared/async/timeout.js';
import {errorMessage} from '../../../shared/errors.js';
import {hintOf} from '../../common/hint-of.js';

/** Longer than the time limits of connecting and the handshake, whose errors say more. */
const WAIT_MS = 15_000;
/** Time limit for the orderly end of the connection. */
const GOODBYE_MS = 3000;
const PINGS = 3;
/** Announced by longarm's servers only. */
const OURS = 'processIo';
/** Optional features of a server, by the capability that announces them. */
const ABILITIES = {
	portForward: 'forward ports',
	processResize: 'resize terminals',
	processCloseStdin: 'end the input of a program',
	processSignalByName: 'send any signal',
	processTimeLimit: 'limit the time of a program',
	fsTransfer: 'take a whole tree as one stream',
	fsAtomicWrite: 'replace a file in one step',
	fsWatch: 'watch trees',
	fsSearch: 'search files',
	httpCancel: 'give up a request',
} as const;

export type ProbeResult =
	| {
			readonly name: string;
			readonly reachable: true;
			readonly server: string;
			readonly version: string | null;
			readonly protocol: ServerDescription['dialect'];
			readonly os: string | null;
			readonly arch: string | null;
			readonly shell: string | null;
			readonly roundTripMs: number;
			readonly cannot: readonly string[];
	  }
	| {readonly name: string; readonly reachable: false; readonly reason: string; readonly hint?: string};

/** Connects, asks who is there and how quickly, and hangs up. */
export async function probeEnvironment(environment: Environment): Promise<ProbeResult> {
	try {
		return await withTimeout(describe(environment), WAIT_MS, () => {
			throw new Error(`no answer after ${WAIT_MS / 1000}s`);
		});
	} catch (error) {
		const reason = errorMessage(error);
		const hint = hintOf(error);
		return {
			name: environment.id,
			reachable: false,
			reason: reason.replaceAll(/\s*\n\s*/g, ' '),
			...(hint !== undefined && {hint}),
		};
	} finally {
		await withTimeout(environment.close(), GOODBYE_MS, () => {});
	}
}

async function describe(environment: Environment): Promise<ProbeResult> {
	const description = await environment.server();
	const {dialect, info, capabilities} = description;
	const [system, machine] = await readSystem(environment);
	return {
		name: environment.id,
		reachable: true,
		server: capabilities[OURS] === undefined ? 'exec-server' : 'longarm',
		version: info?.executorVersion ?? null,
		protocol: dialect,
		os: info?.platformOs ?? system?.toLowerCase() ?? null,
		arch: machine ?? null,
		shell: info?.shell.path ?? null,
		roundTripMs: await measureRoundTrip(environment),
		cannot: listMissingFeatures(description),
	};
}

/** System and architecture from `uname`: the protocol has no member for the architecture. */
async function readSystem(environment: Environment): Promise<string[]> {
	try {
		const {stdout} = await environment.run(['uname', '-sm'], {timeout: WAIT_MS});
		return stdout.text.trim().split(' ');
	} catch {
		return [];
	}
}

/** The best of a few, in milliseconds: the others were disturbed. */
async function measureRoundTrip(environment: Environment): Promise<number> {
	let best = Number.POSITIVE_INFINITY;
	for (let ping = 0; ping < PINGS; ping++) {
		const sent = performance.now();
		const status = await environment.status();
		if (status.kind === 'disconnected') throw new Error(status.error);
		best = Math.min(best, performance.now() - sent);
	}
	return Number(best.toFixed(2));
}

/** Features this server lacks, for people. */
export function listMissingFeatures({dialect, capabilities}: ServerDescription): string[] {
	const missing = Object.entries(ABILITIES).flatMap(([name, words]) => (capabilities[name] ? [] : [words]));
	return dialect === 'v0' ? ['files and HTTP', ...missing] : missing;
}
