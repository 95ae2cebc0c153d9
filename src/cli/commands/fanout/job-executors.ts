import {defaultProvider} from '../../../environments/config/default-provider.js';
import {Environment} from '../../../environments/environment.js';
import {LOCAL, readSnapshot} from '../../../environments/environment-provider.js';
import {type SelectedMachine, selectByAddress, selectMembers} from '../../../environments/many/hub-members.js';
import {splitSelector} from '../../../environments/many/selector.js';
import type {JobExecutor} from '../../../jobs/item-worker.js';
import type {DescribedExecutor} from '../../../jobs/job-description.js';
import {findScheme} from '../../../transports/node/registry.js';
import {relayStderr} from '../../common/messages.js';
import {parseWholeNumber} from '../../common/processes/option-values.js';
import {resolveTarget} from '../../common/resolve-target.js';
import {usageError} from '../../exit-codes.js';

const SETTING = /,(slots|cwd)=([^,]*)$/;
const NAMED_ADDRESS = /^([\w.-]+)=(.+)$/s;

/** The executors of `--executor`, each name once; this machine without any. */
export async function describeExecutors(
	specs: readonly string[],
	defaultSlots: number,
): Promise<readonly DescribedExecutor[]> {
	const given = specs.length === 0 ? [LOCAL] : specs;
	const executors = (await Promise.all(given.map(spec => parseExecutor(spec, defaultSlots)))).flat();
	const twice = executors.find(({name}, index) => executors.findIndex(each => each.name === name) !== index);
	if (twice) throw usageError(`--executor: ${twice.name} is given twice`);
	return executors;
}

/** `NAME`, `@os=linux`, `NAME=URL` or `URL`, with `,slots=N` and `,cwd=PATH` behind it. */
async function parseExecutor(spec: string, defaultSlots: number): Promise<DescribedExecutor[]> {
	let rest = spec;
	let slots: number | undefined;
	let cwd: string | undefined;
	for (let match = SETTING.exec(rest); match; match = SETTING.exec(rest)) {
		if (match[1] === 'slots') slots = parseSlots(match[2]!);
		else cwd = match[2]!;
		rest = rest.slice(0, match.index);
	}
	const settings = {slots: slots ?? defaultSlots, ...(cwd !== undefined && {cwd})};
	const [, name, address] = NAMED_ADDRESS.exec(rest) ?? [];
	if (name !== undefined && findScheme(address!)) return [{name, where: requireNoSecret(address!), ...settings}];
	const isAddress = findScheme(rest) !== undefined;
	const target = isAddress ? await resolveTarget(requireNoSecret(rest), {pools: {waitMs: undefined}}) : undefined;
	const machines = target ? await selectByAddress(rest, target) : await selectNamed(rest);
	// A machine of a hub takes as many items as it has slots, unless the caller says otherwise.
	return machines.map(({name: each, slots: own}) => ({
		name: each,
		where: each,
		...settings,
		slots: slots ?? own ?? defaultSlots,
	}));
}

async function selectNamed(selector: string): Promise<SelectedMachine[]> {
	const snapshot = await readSnapshot(defaultProvider());
	const machines = new Map<string, SelectedMachine>();
	for (const term of splitSelector(selector)) {
		for (const machine of await selectMembers(term, snapshot)) machines.set(machine.name, machine);
	}
	return [...machines.values()];
}

/** The address is kept with the job and shown in its output, so it must not let anybody in. */
function requireNoSecret(address: string): string {
	const url = URL.canParse(address) ? new URL(address) : undefined;
	if (!url || (url.username === '' && url.password === '' && url.search === '')) return address;
	throw usageError('--executor: an address with a password or a query is kept nowhere; name it with longarm env add');
}

function parseSlots(text: string): number {
	const slots = parseWholeNumber('--executor: slots', text);
	if (slots === 0) throw usageError('--executor: slots must be 1 or more');
	return slots;
}

/** Opens the executors; with sessions of an earlier runner, those are resumed where the servers still have them. */
export function openExecutors(
	described: readonly DescribedExecutor[],
	sessions: ReadonlyMap<string, string> = new Map(),
): Promise<JobExecutor[]> {
	return Promise.all(
		described.map(async ({name, where, slots, cwd}) => {
			const environment = await open(name, where, sessions.get(name));
			return {name, environment, slots, ...(cwd !== undefined && {cwd})};
		}),
	);
}

async function open(name: string, where: string, resumeSessionId: string | undefined): Promise<Environment> {
	if (where === LOCAL) return Environment.local(name);
	const target = await resolveTarget(where, {onStderr: relayStderr});
	if (resumeSessionId === undefined) return Environment.remote(name, target);
	const resumed = Environment.remote(name, {...target, resumeSessionId});
	try {
		await resumed.sessionId();
		return resumed;
	} catch {
		// The session is gone, with the processes in it, or the server cannot be reached; a new one tells which.
		await resumed.close().catch(() => {});
		return Environment.remote(name, target);
	}
}
