import {requireForwarding} from '../../../client/ports/remote-ports.js';
import type {Environment} from '../../../environments/environment.js';
import {formatHostPort} from '../../../environments/ports/forwarded-port.js';
import {PortForward} from '../../../environments/ports/port-forward.js';
import {Deferred} from '../../../shared/async/deferred.js';
import {silentLogger} from '../../../shared/logger.js';
import {openEnvironment} from '../../common/environments.js';
import {collectGarbageWhenIdle} from '../../common/idle-gc.js';
import {relayStderr, writeJson, writeLines, writeMessage} from '../../common/messages.js';
import {EXIT} from '../../exit-codes.js';
import {parseForward} from './forward-spec.js';

export interface ForwardOptions {
	readonly environment: string | undefined;
	readonly quiet: boolean;
	readonly json: boolean;
}

/** Serves forwarded ports until a signal; the exit code. */
export async function forward(given: readonly string[], options: ForwardOptions): Promise<number> {
	const specs = given.map(parseForward);
	const environment = await openEnvironment(options.environment, {onStderr: relayStderr, quiet: options.quiet});
	requireForwarding((await environment.server()).capabilities);
	collectGarbageWhenIdle(silentLogger);
	const asked = waitForSignal();
	const link = watchLink(environment);
	const forwards: PortForward[] = [];
	try {
		for (const spec of specs) forwards.push(await PortForward.listen(spec, {environment, failed: writeMessage}));
		for (const each of forwards) writeForward(each, environment.id, options);
		return await Promise.race([asked, link.lost]);
	} finally {
		link.stopWatching();
		for (const each of forwards) await each[Symbol.asyncDispose]();
		await environment.close();
	}
}

function writeForward({local, remote, spec}: PortForward, environment: string, {json}: ForwardOptions): void {
	if (json) writeJson({local, remote: {host: spec.host, port: spec.remotePort}, environment});
	else writeLines([`${formatHostPort(local.address, local.port)} -> ${remote} of ${environment}`]);
}

function waitForSignal(): Promise<number> {
	return new Promise(resolve => {
		for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve(EXIT.ok));
		// Behind the ^C that the terminal shows.
		if (process.stderr.isTTY) process.once('SIGINT', () => process.stderr.write('\n'));
	});
}

/** Reports lost connections; `lost` rejects when there will never be another, as with a command that has ended. */
function watchLink(environment: Environment): {readonly lost: Promise<never>; stopWatching(): void} {
	const lost = new Deferred<never>();
	lost.promise.catch(() => {});
	const stopWatching = environment.onDisconnect((error, recovered) => {
		writeMessage(`lost ${environment.id}, its connections are closed: ${error.message}`);
		void reportRecovery(environment, recovered, () => lost.reject(error));
	});
	return {lost: lost.promise, stopWatching};
}

async function reportRecovery(environment: Environment, recovered: Promise<void>, lost: () => void): Promise<void> {
	try {
		await recovered;
		writeMessage(`${environment.id} is back`);
	} catch {
		if (!(await hasNewSession(environment))) lost();
	}
}

/** A new session, now or with the next connection; a command that has ended gets none. */
async function hasNewSession(environment: Environment): Promise<boolean> {
	try {
		await environment.server();
	} catch (error) {
		writeMessage(`${environment.id} cannot be reached; the next connection tries again: ${(error as Error).message}`);
		return true;
	}
	const isReady = (await environment.status()).kind === 'ready';
	if (isReady) writeMessage(`${environment.id} is back`);
	return isReady;
}
