import {homedir} from 'node:os';
import {homeOf} from '../../../../environments/config/config-home.js';
import {findClosestName} from '../../../../shared/closest-name.js';
import {errorMessage} from '../../../../shared/errors.js';
import {writeJson, writeLines, writeMessage} from '../../../common/messages.js';
import {EXIT, usageError} from '../../../exit-codes.js';
import {type ConfigFile, findConfigFile, isInstalled, readConfigFile, writeConfigFile} from './config-file.js';
import {MCP_CLIENTS, type McpClient, type UserPlace} from './mcp-clients.js';
import {type ConfigChange, formOf, planSetup, planUninstall} from './plan-change.js';
import {toServerCommand} from './server-command.js';
import {SetupRecord} from './setup-record.js';

export interface SetupRequest {
	/** Names of --client; all that are installed if there are none. */
	readonly clients: readonly string[];
	/** Options of `longarm mcp`. */
	readonly args: readonly string[];
	readonly dryRun: boolean;
	readonly uninstall: boolean;
	readonly json: boolean;
}

type Action = ConfigChange['kind'] | 'failed';

interface Outcome {
	readonly client: string;
	readonly file: string;
	readonly action: Action;
	readonly error?: string;
}

/** Writes our server into the configurations of MCP clients, or takes it out; settles with the exit code. */
export async function setUpClients(request: SetupRequest): Promise<number> {
	if (request.uninstall && request.args.length > 0) throw usageError('--uninstall takes no options of longarm mcp');
	const place: UserPlace = {home: homedir(), platform: process.platform, variables: process.env};
	const record = await SetupRecord.read(homeOf(process.env));
	const clients = await chooseClients(request, place);
	const outcomes: Outcome[] = [];
	for (const client of clients) outcomes.push(await setUpClient(client, request, place, record));
	if (request.json) writeJson(outcomes, '\t');
	else if (request.dryRun) writeLines(['nothing was written (--dry-run)']);
	return outcomes.some(({action}) => action === 'failed') ? EXIT.failed : EXIT.ok;
}

async function chooseClients({clients: given, uninstall}: SetupRequest, place: UserPlace): Promise<McpClient[]> {
	const names = MCP_CLIENTS.map(({name}) => name);
	const unknown = given.find(name => !names.includes(name));
	if (unknown !== undefined) {
		const near = findClosestName(unknown, names);
		const meant = near === undefined ? '' : ` did you mean ${near}?`;
		throw usageError(`--client ${unknown}: unknown;${meant} known are ${names.join(', ')}`);
	}
	if (given.length > 0) return MCP_CLIENTS.filter(({name}) => given.includes(name));
	const installed: McpClient[] = [];
	for (const client of MCP_CLIENTS) if (await isInstalled(client, place)) installed.push(client);
	if (installed.length > 0 || uninstall) return installed;
	throw usageError(`no MCP client is found; name one with --client: ${names.join(', ')}`);
}

/** A configuration that cannot be changed keeps no other from it. */
async function setUpClient(
	known: McpClient,
	request: SetupRequest,
	place: UserPlace,
	record: SetupRecord,
): Promise<Outcome> {
	const path = await findConfigFile(known, place);
	try {
		const file = await readConfigFile(path);
		const client = formOf(known, file.text);
		const entry = client.entry(toServerCommand(client, request.args));
		const state = {text: file.text, recorded: record.get(file.path)};
		const change = request.uninstall
			? planUninstall(client, state)
			: planSetup(client, entry, state, file.text === undefined);
		if (!request.json) showChange(`${client.title}: ${path}`, change, entry);
		if (!request.dryRun) await writeChange(file, change, record);
		return {client: known.name, file: path, action: change.kind};
	} catch (error) {
		const message = errorMessage(error);
		if (!request.json) writeMessage(`error: ${known.title}: ${path}: ${message}`);
		return {client: known.name, file: path, action: 'failed', error: message};
	}
}

/** Recorded before it is made: an edit that was interrupted can be undone. */
async function writeChange(file: ConfigFile, change: ConfigChange, record: SetupRecord): Promise<void> {
	if (change.kind === 'unchanged') return;
	if (change.kind !== 'remove') await record.set(file.path, change.edit);
	await writeConfigFile(file, change.after);
	if (change.kind === 'remove') await record.set(file.path, undefined);
}

/** Of an entry that was there before only our members are shown: others may hold a token. */
function showChange(where: string, change: ConfigChange, entry: Record<string, unknown>): void {
	const says: Record<ConfigChange['kind'], string> = {
		add: 'add longarm',
		update: 'update the entry longarm',
		remove: 'remove longarm',
		unchanged: 'nothing to do',
	};
	writeLines([`${where}: ${says[change.kind]}`, ...toWrittenLines(change, entry).map(line => `  + ${line}`)]);
}

function toWrittenLines(change: ConfigChange, entry: Record<string, unknown>): string[] {
	if (change.kind === 'update') return [JSON.stringify(entry)];
	if (change.kind !== 'add') return [];
	return change.edit.inserted.split(/\r?\n/).filter(line => line.trim() !== '');
}
