import {refusedError} from '../../filesystem/file-errors.js';
import type {Request} from '../../protocol/wire/envelope.js';
import {allowsAllFiles, type SandboxPlan} from '../../sandbox/plan.js';
import type {SandboxPolicy} from '../../sandbox/policy.js';
import {LongarmError} from '../../shared/errors.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';

interface FileParams {
	readonly sandbox?: SandboxPolicy | null | undefined;
	readonly handleId?: string;
	readonly watchId?: string;
	readonly searchId?: string;
}

type FileHandler = (params: FileParams, client: ClientConnection, request: Request) => unknown;

/** Wraps file handlers: requests with a sandbox policy are relayed to a worker in that sandbox. */
export function routeToSandbox<H extends Handlers<ClientConnection>>(handlers: H): H {
	return Object.fromEntries(
		Object.entries(handlers as unknown as Record<string, FileHandler>).map(
			([method, handle]): [string, FileHandler] => [
				method,
				(params, client, request) => {
					const use = (plan: SandboxPlan | undefined): unknown =>
						plan ? relayToWorker(plan, params, client, request) : handle(params, client, request);
					const plan = resolveFilePlan(params.sandbox, client);
					if (!(plan instanceof Promise)) return use(plan);
					return plan.then(resolved => {
						client.requireOpen();
						return use(resolved);
					});
				},
			],
		),
	) as unknown as H;
}

const refuse = (error: unknown): never => {
	throw toFileRefusal(error);
};

/** Undefined when the request needs no worker: no policy, or one that restricts no file. */
function resolveFilePlan(
	context: FileParams['sandbox'],
	client: ClientConnection,
): SandboxPlan | undefined | Promise<SandboxPlan | undefined> {
	if (!context) return undefined;
	try {
		const plan = client.sandbox.resolve(context);
		return plan instanceof Promise ? plan.then(toFilePlan).catch(refuse) : toFilePlan(plan);
	} catch (error) {
		return refuse(error);
	}
}

/** Leaves private directories out: a file in one would be lost with the worker, although the client was told it exists. */
function toFilePlan(plan: SandboxPlan | undefined): SandboxPlan | undefined {
	if (!plan || allowsAllFiles(plan)) return undefined;
	return {mounts: plan.mounts.filter(({kind}) => kind !== 'private'), network: 'none'};
}

async function relayToWorker(
	plan: SandboxPlan,
	{handleId, watchId, searchId}: FileParams,
	client: ClientConnection,
	request: Request,
): Promise<unknown> {
	const {files} = client;
	try {
		if (handleId !== undefined) {
			const open = () => files.sandboxed.open(plan, request, handleId);
			return (await files.handles.open(handleId, open)).answer;
		}
		if (watchId !== undefined) {
			requireFree('watch', watchId, files.watches.has(watchId) || files.sandboxed.hasWatch(watchId));
			return await files.sandboxed.watch(plan, request, watchId);
		}
		if (searchId !== undefined) {
			requireFree('search', searchId, files.searches.has(searchId) || files.sandboxed.hasSearch(searchId));
			return await files.sandboxed.search(plan, request, searchId);
		}
		return await files.sandboxed.relay(plan, request);
	} catch (error) {
		throw toFileRefusal(error);
	}
}

export function requireFree(what: 'watch' | 'search', id: string, isTaken: boolean): void {
	if (isTaken) throw refusedError(`${what} \`${id}\` already exists`);
}

/** File operations have their own code and text for an unsupported policy. */
function toFileRefusal(error: unknown): unknown {
	if (!(error instanceof LongarmError) || error.code !== 'NOT_SUPPORTED') return error;
	return refusedError(error.message.replace(/^sandbox intent/, 'filesystem sandbox'));
}
