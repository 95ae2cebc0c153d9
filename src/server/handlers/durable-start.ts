import {toStartRequest} from '../../adapters/start-request.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {Params, ResultOnWire} from '../../protocol/methods/method-table.js';
import type {Request} from '../../protocol/wire/envelope.js';
import {LongarmError} from '../../shared/errors.js';
import type {ClientConnection} from '../connection/client-connection.js';
import {namedParams} from '../fs-worker/sandboxed-files.js';
import type {KeeperParamsOnWire} from '../keeper/keeper-methods.js';
import {startWhenPlanned} from './pending-plans.js';
import {recordStart, requireExecAllowed} from './start-rules.js';

type StartParams = Params<'process/start'>;

/** Starts a process in a keeper, where it survives this server; it is shown here like any other. */
export async function startDurable(
	params: StartParams,
	client: ClientConnection,
	asked: Request,
): Promise<ResultOnWire<'process/start'>> {
	const {processId, argv} = params;
	requireExecAllowed(client.settings, params.prepared ? 'prepared' : 'direct');
	requireWholeOutput(params);
	// The keeper looks at the sandbox, and at everything else again.
	client.registry.requireFree(processId, toStartRequest({...params, sandbox: undefined}), client);
	const started = startInKeeper(params, client, asked);
	const process = await startWhenPlanned(client, processId, started, async found => drive(client, found));
	const sandboxType = process.options.isSandboxed ? client.sandbox.type : 'none';
	recordStart(client, {
		session: client.session.id,
		process: processId,
		pid: process.pid,
		argv,
		sandbox: sandboxType,
		trace: asked.trace?.traceparent ?? undefined,
	});
	const sandboxEnforcer = process.options.isSandboxed && client.sandbox.enforcerName;
	return {processId, sandboxType, ...(sandboxEnforcer && {sandboxEnforcer})};
}

/** This server refuses what it would itself: of what its other sandboxes could write, the keeper knows nothing. */
async function startInKeeper(params: StartParams, client: ClientConnection, asked: Request): Promise<ManagedProcess> {
	if (params.sandbox) await toStartRequest(params, client.sandbox);
	return client.keepers.start(client.grant?.name, toKeeperParams(asked));
}

/** The client that started it drives it, and gets its output from the beginning. */
function drive(client: ClientConnection, process: ManagedProcess): ManagedProcess {
	client.registry.share(process).enter(client.session, process.id, 'drive');
	client.session.pump?.deliver(process, {drives: true, afterSeq: 0});
	return process;
}

/** Its events are repeated here with their numbers, of which none may be missing. */
function requireWholeOutput({spill}: StartParams): void {
	if (spill?.onFull !== 'dropOldest') return;
	throw new LongarmError('NOT_SUPPORTED', {
		message: 'the output of a durable process cannot be dropped: leave onFull out',
	});
}

function toKeeperParams(asked: Request): KeeperParamsOnWire<'keeper/start'>['start'] {
	const params = namedParams(asked) as KeeperParamsOnWire<'keeper/start'>['start'];
	return {...params, durable: false, onDisconnect: 'keep', acknowledged: false, spill: params.spill ?? {}};
}
