import {toStartRequest} from '../../adapters/start-request.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import {decode} from '../../protocol/wire/decode.js';
import type {Request} from '../../protocol/wire/envelope.js';
import {LongarmError} from '../../shared/errors.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {ProcessCaller} from '../sharing/shared-processes.js';
import {
	type HeldProcess,
	isKeeperMethod,
	KEEPER_METHODS,
	type KeeperMethod,
	type KeeperParams,
	type KeeperResult,
} from './keeper-methods.js';
import type {KeeperRole} from './keeper-role.js';

type Route = (request: Request, client: ClientConnection) => unknown;
type Handler<M extends KeeperMethod> = (
	params: KeeperParams<M>,
	client: ClientConnection,
	role: KeeperRole,
) => KeeperResult<M> | Promise<KeeperResult<M>>;

const HANDLERS: {readonly [M in KeeperMethod]: Handler<M>} = {
	'keeper/start': async ({owner, directory, start}, client, role) => {
		const {processId} = start;
		const request = await toStartRequest(start, client.sandbox);
		const caller: ProcessCaller = {session: client.session, grant: owner === null ? undefined : {name: owner}};
		const process = await role.startAt(processId, directory, () =>
			client.registry.startKept(caller, processId, request),
		);
		return describeHeld(process);
	},

	'keeper/list': (_, client) => ({
		processes: listHeld(client).filter(hasStarted).map(describeHeld),
	}),

	'keeper/follow': ({processId, afterSeq}, client) => {
		const process = listHeld(client).find(({id}) => id === processId);
		if (!process || !hasStarted(process)) throw unknownProcessError(processId);
		client.registry.attach(process, client, {role: 'drive', takeover: true, afterSeq});
		return {};
	},

	'keeper/end': (_, client, role) => {
		const ends = !listHeld(client).some(isUnfinished);
		// After the answer.
		if (ends) setImmediate(() => role.end());
		return {ends};
	},
};

/** Answers requests of the server of this keeper; all others go to `route`. */
export function withKeeperMethods(route: Route, role: KeeperRole): Route {
	return (request, client) => {
		const {method, params} = request;
		if (!isKeeperMethod(method)) return route(request, client);
		client.requireHandshake('exec');
		role.notify = (name, told) => client.rpc.notify(name, told);
		const handle = HANDLERS[method] as (params: unknown, client: ClientConnection, role: KeeperRole) => unknown;
		return handle(decode(KEEPER_METHODS[method].params, params ?? {}), client, role);
	};
}

function unknownProcessError(processId: string): LongarmError {
	return new LongarmError('PROCESS_UNKNOWN', {message: `unknown process id ${processId}`, context: {processId}});
}

/** Running, or with streams that have not ended. */
export function isUnfinished({state}: ManagedProcess): boolean {
	return state.kind === 'starting' || state.kind === 'running' || state.kind === 'exited';
}

function hasStarted(process: ManagedProcess): boolean {
	return process.state.kind !== 'starting' && isUnfinished(process);
}

function describeHeld(process: ManagedProcess): HeldProcess {
	const {options, terminalSize, sharing} = process;
	return {
		processId: process.id,
		owner: options.owner ?? null,
		directory: options.spill!.directory,
		pid: process.pid!,
		argv: [...options.argv],
		tty: options.tty,
		rows: terminalSize?.rows ?? null,
		cols: terminalSize?.columns ?? null,
		streams: options.tty ? ['pty'] : ['stdout', 'stderr'],
		takesInput: process.takesInput,
		startedAtMs: process.startedAt,
		ageMs: process.ageMs,
		sandbox: options.isSandboxedWithNetwork ? 'sandboxedWithNetwork' : options.isSandboxed ? 'sandboxed' : 'none',
		blockedOn: options.spill!.blockedOn ?? null,
		sharing: options.sharing ? {...sharing, name: sharing.name ?? null, labels: {...sharing.labels}} : null,
	};
}

/** All processes of this keeper. */
function listHeld({registry}: ClientConnection): ManagedProcess[] {
	return Array.from(registry.visibleTo(undefined), ([process]) => process);
}
