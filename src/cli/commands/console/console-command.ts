import {hostname} from 'node:os';
import {createInterface} from 'node:readline';
import type {Connect} from '../../../client/session/session-client.js';
import {ConsoleLogins} from '../../../console/server/console-logins.js';
import {CONSOLE_PREFIX, type ConsoleAdmission, ConsoleSite} from '../../../console/server/console-site.js';
import {loadPageFiles} from '../../../console/server/page-files.js';
import {LocalDaemon} from '../../../environments/local/local-daemon.js';
import {connectorFor} from '../../../environments/remote/remote-backend.js';
import {refuseConfinedPeer} from '../../../server/confined-peers.js';
import {errorMessage} from '../../../shared/errors.js';
import {silentLogger} from '../../../shared/logger.js';
import {joinTransports} from '../../../transports/join-transports.js';
import {listen} from '../../../transports/node/listener.js';
import {isLoopback} from '../../../transports/node/loopback.js';
import {collectGarbageWhenIdle} from '../../common/idle-gc.js';
import {InterruptedError, Interruption} from '../../common/interruption.js';
import {writeJson, writeLines, writeMessage} from '../../common/messages.js';
import {resolveDefault, resolveTarget} from '../../common/resolve-target.js';
import {EXIT, usageError} from '../../exit-codes.js';

const LOCAL_NAME = 'local';
const ADDRESS = /^(?:\[([\da-fA-F:.]+)\]|([\d.]+|localhost)):(\d{1,5})$/;
const MAX_PORT = 65_535;
/** Time to reach a machine, so that the browser learns in time that it cannot be. */
const CONNECT_MS = 15_000;

export interface ConsoleRequest {
	readonly environments: readonly string[];
	readonly quiet: boolean;
	/** Loopback address and port. */
	readonly listen: string | undefined;
	readonly json: boolean;
}

/** A machine of the console, and the way to it. */
interface ReachableMachine {
	readonly id: string;
	readonly name: string;
	readonly connect: Connect;
}

/** Serves the console until a signal. */
export async function serveConsole(request: ConsoleRequest): Promise<number> {
	const {host, port} = parseConsoleAddress(request.listen ?? '127.0.0.1:0');
	const machines = await findMachines(request);
	const logins = new ConsoleLogins();
	const site = new ConsoleSite({
		files: loadPageFiles(),
		logins,
		machines: machines.map(({id, name}) => ({id, name})),
		isSecure: false,
		admit: async login =>
			login.kind === 'owner' ? admitOwner(machines) : {kind: 'refused', text: 'this console knows no tokens'},
	});
	// The protocol itself is served nowhere but below the console.
	const listener = await listen({
		host,
		port,
		site,
		accept: transport => transport.destroy(),
		refuseLocalPeer: peer => refuseConfinedPeer(peer, 'longarm'),
	});
	using interruption = new Interruption();
	const page = `${listener.url.replace(/^ws/, 'http')}${CONSOLE_PREFIX}/`;
	const nextLink = (): string => `${page}#login=${logins.createLink()}`;
	const names = machines.map(({name}) => name);
	if (request.json) writeJson({url: nextLink(), machines: names});
	else writeLines([nextLink()]);
	const lines = printLinks(nextLink);
	collectGarbageWhenIdle(silentLogger);
	try {
		await new Promise<never>((_, reject) => {
			interruption.signal.addEventListener('abort', () => reject(interruption.signal.reason as Error));
		});
		return EXIT.ok;
	} catch (error) {
		if (error instanceof InterruptedError) return EXIT.ok;
		throw error;
	} finally {
		lines.close();
		await listener.close();
	}
}

/** Another link for each line on a terminal: the first one is good once. */
function printLinks(nextLink: () => string): {close(): void} {
	const lines = createInterface({input: process.stdin});
	lines.on('line', () => writeLines([nextLink()]));
	// In the background of a shell, reading from its terminal would stop this program.
	process.once('SIGTTIN', () => lines.close());
	return lines;
}

function admitOwner(machines: readonly ReachableMachine[]): ConsoleAdmission {
	return {
		kind: 'pass',
		hasRoom: true,
		connect: async machineId => {
			const {name, connect} = machines.find(({id}) => id === machineId)!;
			try {
				const server = await connect(AbortSignal.timeout(CONNECT_MS));
				return {accept: browser => joinTransports(browser, server), withdraw: () => server.destroy()};
			} catch (error) {
				writeMessage(`${name} cannot be reached: ${errorMessage(error)}`);
				throw error;
			}
		},
	};
}

async function findMachines({environments, quiet}: ConsoleRequest): Promise<ReachableMachine[]> {
	const names = [...new Set(environments)];
	if (names.length > 0) return Promise.all(names.map((name, index) => findMachine(name, index)));
	const found = await resolveDefault({quiet});
	return [found ? {id: '0', name: found.name, connect: connectorFor(found.target)} : localMachine(0)];
}

async function findMachine(name: string, index: number): Promise<ReachableMachine> {
	if (name === LOCAL_NAME) return localMachine(index);
	const target = await resolveTarget(name, {onStderr: text => writeMessage(text)});
	return {id: String(index), name, connect: connectorFor(target)};
}

/** This machine by the daemon of its user, which is started if it does not run. */
function localMachine(index: number): ReachableMachine {
	const daemon = new LocalDaemon({variables: process.env});
	const connect = connectorFor({kind: 'unix', path: daemon.place.socket});
	return {
		id: String(index),
		name: hostname(),
		connect: async signal => {
			await daemon.open();
			await daemon.close();
			return connect(signal);
		},
	};
}

/** Others of the network could read the cookie on its way: use `longarm serve --console` with TLS for them. */
function parseConsoleAddress(text: string): {readonly host: string; readonly port: number} {
	const [, ipv6, ipv4, digits] = ADDRESS.exec(text) ?? [];
	const host = ipv6 ?? (ipv4 === 'localhost' ? '127.0.0.1' : ipv4);
	const port = Number(digits);
	if (host === undefined || port > MAX_PORT || !isLoopback(host)) {
		throw usageError(`--listen ${text}: expected a loopback address and a port, such as 127.0.0.1:8080`);
	}
	return {host, port};
}
