// Timers of the client: its connection is refused or never answered, when it starts and while a command runs.
import {setTimeout as sleep} from 'node:timers/promises';
import {follow, poll, runCommand} from '../answers.mjs';
import {InteropHub} from '../hub.mjs';
import {say} from '../model.mjs';
import {OutageLine} from './outage-line.mjs';
import {median, roundestBetween, roundTo} from './rounding.mjs';

/** Longer than every recovery: the poll ends when the client gives up. */
const POLL_MS = 150_000;
/** A client gives up at a full second, and its tool reports that a little later. */
const MAX_REPORT_DELAY_MS = 2000;
/** Delays of one round are longer than this; a round follows the one before it without a delay. */
const MAX_ROUND_GAP_MS = 400;
/** A client behind a hub doubles its delays, and each is up to half as long again; delays may look a little shorter. */
const DELAY_UNIT_MS = 500;
const DELAY_TOLERANCE = 1.1;
const TIMES_STEP_MS = 5000;
const INTERVAL_STEP_MS = 50;

/** Whether the first attempt and the first caller share a connection depends on the machine: the largest number counts. */
const REFUSED_STARTS = 3;
/** Time between the starts of clients, so that none of them measures the start of another one. */
const STAGGER_MS = 1500;
/** A loaded machine notices a connection late and the timeout looks shorter than it is. */
const MAX_LATENESS_MS = 750;
const MAX_EARLINESS_MS = 250;
const REFUSAL = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

/** Measures a client that connects to a server on a plain WebSocket. */
export async function measureWebSocketClient(rig, serverUrl) {
	const place = {name: 'websocket', serverUrl, variablesFor: ({url}) => ({CODEX_EXEC_SERVER_URL: url})};
	const refused = [];
	for (let run = 0; run < REFUSED_STARTS; run++) {
		const {attempts} = await measureOutage(rig, place, {
			name: `start-refused-${run}`,
			kind: 'refuse',
			work: fallAtStart,
		});
		refused.push(attempts.length);
	}
	const {startSilent, recoveryRefused, recoverySilent} = await measureOutages(rig, place);
	return {
		start: {
			attemptsWhenRefused: Math.max(...refused),
			attemptTimesWhenSilentMs: timesOf(startSilent.attempts),
			attemptTimeoutMs: timeoutOf(startSilent.attempts),
		},
		recovery: {
			windowMs: windowOf(recoveryRefused),
			attemptIntervalWhenRefusedMs: roundTo(median(delaysOf(recoveryRefused.attempts)), INTERVAL_STEP_MS),
			attemptTimesWhenSilentMs: timesOf(recoverySilent.attempts),
			attemptTimeoutMs: timeoutOf(recoverySilent.attempts),
		},
	};
}

/** Measures a client that finds a server through a hub; `dist` is the built package whose hub it is. */
export async function measureHubClient(rig, dist) {
	const hub = await new InteropHub(dist, rig.scratch.folder('timer-hub')).start();
	try {
		await hub.serve(`exec '${rig.codexBin}' exec-server`, rig.scratch);
		const {variables} = hub.executor;
		const {CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: hubUrl} = variables;
		const place = {
			name: 'hub',
			serverUrl: hubUrl,
			refusal: REFUSAL,
			variablesFor: ({url}) => ({...variables, CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: url.replace('ws:', 'http:')}),
		};
		const [startRefused, {startSilent, recoveryRefused, recoverySilent}] = await Promise.all([
			measureOutage(rig, place, {name: 'start-refused', kind: 'refuse', work: fallAtStart}),
			measureOutages(rig, place),
		]);
		return {
			start: {
				rounds: 1 + delaysOf(startRefused.attempts).filter(delay => delay < MAX_ROUND_GAP_MS).length,
				retryDelaysMs: delaysOf(startRefused.attempts).slice(0, 3).map(withoutJitter),
				attemptTimeoutMs: timeoutOf(startSilent.attempts),
			},
			recovery: {
				windowMs: windowOf(recoveryRefused),
				retryDelaysMs: delaysOf(recoveryRefused.attempts).slice(0, 4).map(withoutJitter),
				attemptTimeoutMs: timeoutOf(recoverySilent.attempts),
			},
		};
	} finally {
		await hub.stop();
	}
}

/** Runs three clients, each with its own outage. */
async function measureOutages(rig, place) {
	const [startSilent, recoveryRefused, recoverySilent] = await Promise.all(
		[
			{name: 'start-silent', kind: 'silent', work: fallAtStart},
			{name: 'recovery-refused', kind: 'refuse', work: fallWhileRunning},
			{name: 'recovery-silent', kind: 'silent', work: fallWhileRunning},
		].map(async (outage, index) => {
			await sleep((index + 1) * STAGGER_MS);
			return measureOutage(rig, place, outage);
		}),
	);
	return {startSilent, recoveryRefused, recoverySilent};
}

/** Runs one client; `variablesFor` returns the variables that lead it to a line. */
async function measureOutage(rig, {name: transport, serverUrl, refusal, variablesFor}, {name, kind, work}) {
	const line = await new OutageLine(serverUrl, {refusal}).start();
	try {
		return await play(rig, `timer-${transport}-${name}`, t => work({t, line, kind, variables: variablesFor(line)}));
	} finally {
		line.stop();
	}
}

/** Runs a piece of work as a scenario of the rig, without the recording proxy; settles with what it returns. */
async function play(rig, name, work) {
	let outcome;
	const run = async t => {
		outcome = await work(t);
	};
	const {status, reason} = await rig.run({name, isStdio: true, run});
	if (status !== 'passed') throw new Error(`${name}: ${reason}`);
	return outcome;
}

/** Begins the outage before the client starts. */
async function fallAtStart({t, line, kind, variables}) {
	line.beginOutage(kind);
	await t.exec(doNothing, {variables});
	return {attempts: line.attempts};
}

/** A script that is over at once: the client starts, and its model has nothing to do. */
function doNothing() {
	return {next: async () => ({done: true})};
}

/** Begins the outage while a command runs, and waits until the client gives its session up. */
async function fallWhileRunning({t, line, kind, variables}) {
	let endedAt;
	await t.exec(
		async function* () {
			const start = runCommand('echo $$ > pid; echo running; exec sleep 600', {yield_time_ms: 500});
			const running = yield* follow(start, output => output.includes('running'));
			line.beginOutage(kind);
			yield [poll(running.sessionId, POLL_MS)];
			endedAt = line.elapsed;
			return [say('done')];
		},
		{variables},
	);
	return {attempts: line.attempts, endedAt};
}

/** The client gives up after its last attempt, and before its tool reports that. */
function windowOf({attempts, endedAt}) {
	return roundestBetween(
		Math.max(attempts.at(-1).startedAt - MAX_EARLINESS_MS, endedAt - MAX_REPORT_DELAY_MS),
		endedAt,
	);
}

/** Returns how long the client waits for an answer to its first attempt. */
function timeoutOf([{startedAt, endedAt}]) {
	return roundestBetween(endedAt - startedAt - MAX_EARLINESS_MS, endedAt - startedAt + MAX_LATENESS_MS);
}

/** Returns the times of attempts since the first one, which begins as soon as the client is ready. */
function timesOf(attempts) {
	return attempts.map(({startedAt}) => roundTo(startedAt - attempts[0].startedAt, TIMES_STEP_MS));
}

function delaysOf(attempts) {
	return attempts.slice(1).map(({startedAt}, index) => startedAt - attempts[index].startedAt);
}

/** Returns the largest doubling or halving of the unit that is not longer than a delay. */
function withoutJitter(delayMs) {
	return DELAY_UNIT_MS * 2 ** Math.floor(Math.log2((delayMs * DELAY_TOLERANCE) / DELAY_UNIT_MS));
}
