import {readFileSync, statSync} from 'node:fs';
import {resolve} from 'node:path';
import {homeOf} from '../../../environments/config/config-home.js';
import {ENVIRONMENT_VARIABLE, URL_VARIABLES} from '../../../environments/config/default-choice.js';
import type {TomlEntry} from '../../../environments/config/edit/edit-text.js';
import {FileProvider} from '../../../environments/config/file-provider.js';
import {withTrust} from '../../../environments/remote/remote-trust.js';
import {requireUrl, targetFromUrl} from '../../../environments/remote/remote-url.js';
import {findSecrecyFault} from '../../../shared/node/private-file.js';
import {isServerUrl} from '../../../transports/node/registry.js';
import {givenTrust} from '../../common/given-trust.js';
import {parseLabels} from '../../common/processes/label-option.js';
import {parseTarget} from '../../common/resolve-target.js';
import {EXIT, usageError} from '../../exit-codes.js';

const STDIN = '-';
const STDIN_FD = 0;

export interface AddedEnvironment {
	readonly name: string;
	readonly where: readonly string[];
	/** Whether what stands there is a program whatever it looks like. */
	readonly isProgram: boolean;
	readonly tokenFile: string | undefined;
	/** Key of an executor behind a hub. */
	readonly executorKey: string | undefined;
	readonly cwd: string | undefined;
	readonly isDefault: boolean;
	/** `KEY=VALUE`. */
	readonly labels: readonly string[];
}

/** Writes an environment into environments.toml. */
export async function addEnvironmentCommand(added: AddedEnvironment): Promise<number> {
	const file = new FileProvider(homeOf(process.env));
	const labels = parseLabels(added.labels);
	const entry = {id: added.name, ...toEntry(added), ...(added.labels.length > 0 && {labels})};
	await file.add(entry, added);
	process.stdout.write(`${added.name} added to ${file.path}\n`);
	const variable = [ENVIRONMENT_VARIABLE, ...URL_VARIABLES].find(name => process.env[name]?.trim());
	if (added.isDefault && variable) process.stderr.write(`note: ${variable} is set, which counts before the default\n`);
	return EXIT.ok;
}

/** Takes an environment out of environments.toml. */
export async function removeEnvironmentCommand(name: string): Promise<number> {
	const file = new FileProvider(homeOf(process.env));
	const {wasDefault} = await file.remove(name);
	process.stdout.write(`${name} removed from ${file.path}\n`);
	if (wasDefault) process.stderr.write(`note: ${name} was the default; there is none of your own now\n`);
	return EXIT.ok;
}

function toEntry(added: AddedEnvironment): Omit<TomlEntry, 'id'> {
	const [first = '', ...rest] = added.where;
	const isUrl = isServerUrl(first) || /^[\w+]+:\/\//.test(first);
	if (!added.isProgram && rest.length === 0 && isUrl) return toUrlEntry(first, added);
	const program = added.isProgram || rest.length > 0 ? {program: first, args: rest} : parseCommand(first);
	if (added.tokenFile !== undefined) throw usageError('a token goes with a URL only');
	if (added.executorKey !== undefined) throw usageError('--executor-key goes with a registry+https:// URL only');
	const {caFile, fingerprint} = givenTrust();
	if (caFile !== undefined || fingerprint !== undefined) {
		throw usageError('--ca-file and --tls-fingerprint go with a wss:// URL only');
	}
	return {...program, ...(added.cwd !== undefined && {cwd: resolve(added.cwd)})};
}

function toUrlEntry(given: string, {tokenFile, cwd, executorKey}: AddedEnvironment): Omit<TomlEntry, 'id'> {
	if (cwd !== undefined) throw usageError('--cwd goes with a program only');
	const url = requireUrl(given);
	return {
		url,
		...(tokenFile !== undefined && {auth_bearer_token: readToken(tokenFile)}),
		...toTrustKeys(url, executorKey),
	};
}

function toTrustKeys(url: string, executorKey: string | undefined): Omit<TomlEntry, 'id'> {
	const {caFile, fingerprint} = givenTrust();
	withTrust(targetFromUrl(url), {caFile, fingerprint, executorKey}, url);
	return {
		...(executorKey !== undefined && {executor_key: executorKey}),
		...(caFile !== undefined && {ca_file: resolve(caFile)}),
		...(fingerprint !== undefined && {tls_fingerprint: fingerprint}),
	};
}

function parseCommand(given: string): {program: string; args: readonly string[]} {
	const target = parseTarget(given);
	if (target?.kind === 'command') return {program: target.program, args: target.args ?? []};
	throw usageError(
		`\`${given}\` is neither a ws:// or wss:// URL nor registry+https://HUB/ID nor unix:PATH nor cmd:COMMAND; a program goes behind --`,
	);
}

/** The token in a file; `-` is standard input. */
export function readToken(file: string): string {
	if (file === STDIN && process.stdin.isTTY) throw usageError('a terminal would show the token; pipe it in');
	let token: string;
	try {
		token = readFileSync(file === STDIN ? STDIN_FD : file, 'utf8').trim();
		const fault = file === STDIN ? undefined : findSecrecyFault(statSync(file), file);
		if (fault !== undefined) throw new Error(`${file} is not used: ${fault}`);
	} catch (cause) {
		throw usageError(`cannot read the token: ${(cause as Error).message}`);
	}
	if (token === '') throw usageError(`there is no token in ${file === STDIN ? 'stdin' : file}`);
	return token;
}
