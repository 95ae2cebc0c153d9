import {isatty} from 'node:tty';
import {ENVIRONMENTS_FILE} from '../../environments/config/config-home.js';
import {TOKEN_VARIABLE, trustOf} from '../../environments/config/config-variables.js';
import {
	chooseDefault,
	type DefaultChoice,
	ENVIRONMENT_VARIABLE,
	URL_VARIABLES,
} from '../../environments/config/default-choice.js';
import {defaultProvider} from '../../environments/config/default-provider.js';
import {type EnvironmentSnapshot, LOCAL, readSnapshot} from '../../environments/environment-provider.js';
import {selectEnvironments, selectsByLabels} from '../../environments/many/selector.js';
import {findHubTarget} from '../../environments/remote/hub-target.js';
import type {RemoteTarget} from '../../environments/remote/remote-target.js';
import {isSecure, withTrust} from '../../environments/remote/remote-trust.js';
import {invalidEnvironment, requireUrl} from '../../environments/remote/remote-url.js';
import {suggestName} from '../../shared/closest-name.js';
import {findScheme, isTransportTarget, schemeOf} from '../../transports/node/registry.js';
import {isPoolTarget} from '../../transports/node/registry-scheme.js';
import type {TargetDescription} from '../../transports/node/transport-scheme.js';
import {usageError} from '../exit-codes.js';
import type {OpenOptions} from './environments.js';
import {givenTrust} from './given-trust.js';
import {writeMessage} from './messages.js';

const STDERR = 2;

/** A machine, or machines of which a hub chooses one, and the name it has for people. */
interface NamedTarget {
	readonly name: string;
	readonly target: RemoteTarget;
}

/** The machine an address or a name stands for; not for `local`. */
export async function resolveTarget(given: string, options: OpenOptions = {}): Promise<RemoteTarget> {
	return (await resolveNamed(given, options)).target;
}

/** The same with its name, which tells the hub of `pool:gpu`, too. */
export async function resolveNamed(given: string, options: OpenOptions = {}): Promise<NamedTarget> {
	const parsed = withTrustOfVariables(parseTarget(given, options));
	const {name, target} = parsed ? {name: given, target: parsed} : await findTarget(given, options);
	return {name, target: withTrust(withPoolChoice(target, given, options), givenTrust(), given)};
}

/** Throws for a pool where one machine has to be named. */
function withPoolChoice(target: RemoteTarget, given: string, {pools}: OpenOptions): RemoteTarget {
	if (target.kind !== 'registry' || !isPoolTarget(target)) return target;
	pools?.noticePool?.();
	if (pools) return pools.waitMs === undefined ? target : {...target, poolWaitMs: pools.waitMs};
	const message = `\`${given}\` stands for several machines, and this command is about one: name it, as in NAME/ID`;
	throw usageError(`${message}; longarm env list --hub shows them`);
}

/** The variables are for any server that is given by its URL, and so say nothing about one without TLS. */
function withTrustOfVariables(target: RemoteTarget | undefined): RemoteTarget | undefined {
	if (!target || !isSecure(target)) return target;
	return withTrust(target, trustOf(process.env), target.url);
}

/** Undefined for a name. */
export function parseTarget(given: string, {onStderr}: OpenOptions = {}): RemoteTarget | undefined {
	return findScheme(given)?.parseTarget(given, {token: process.env[TOKEN_VARIABLE], onStderr});
}

/** The default environment, with a line on a terminal that tells which it is; undefined for this machine. */
export async function resolveDefault(options: OpenOptions = {}): Promise<NamedTarget | undefined> {
	const {name, reason} = await readDefault(options);
	if (name === undefined) {
		const message = `there is no default environment: ${reason ?? 'the source of environments'} says so`;
		throw invalidEnvironment(`${message}; say where with -e, which may be ${LOCAL}`);
	}
	if (name === LOCAL) return undefined;
	const {name: full, target} = await resolveNamed(name, options);
	const {members, text} = describeTarget(target);
	const where = typeof members['url'] === 'string' ? members['url'] : text;
	// An address may hold a password; a name does not.
	const shown = findScheme(name) ? where : full;
	if (!options.quiet && isatty(STDERR)) writeMessage(shown === where ? `on ${where}` : `on ${shown} (${where})`);
	return {name: shown, target};
}

/** The default environment and what makes it that. */
export async function readDefault({provider}: OpenOptions = {}): Promise<DefaultChoice> {
	const source = provider ? undefined : ENVIRONMENTS_FILE;
	const choice = await chooseDefault(process.env, provider ?? defaultProvider(), source);
	const {name, reason} = choice;
	if (name !== undefined && URL_VARIABLES.some(variable => variable === reason)) requireUrl(name);
	return choice;
}

/** How an environment is reached, without its secrets; this machine is undefined. */
export function describeTarget(target: RemoteTarget | undefined): TargetDescription {
	if (!target) return {members: {kind: 'local'}, text: 'this machine'};
	if (isTransportTarget(target)) return schemeOf(target).describe(target);
	return {members: {kind: 'other'}, text: 'elsewhere'};
}

async function findTarget(given: string, options: OpenOptions): Promise<NamedTarget> {
	const {onStderr, provider = defaultProvider()} = options;
	const snapshot = await readSnapshot(provider);
	const {remotes} = snapshot;
	const name = findLabelled(given, snapshot) ?? given;
	const target = remotes.get(name);
	if (!target) {
		const atHub = findHubTarget(name, remotes);
		if (atHub) return atHub;
		const known = [LOCAL, ...remotes.keys()];
		const by = process.env[ENVIRONMENT_VARIABLE]?.trim() === name ? ` of ${ENVIRONMENT_VARIABLE}` : '';
		const message = `unknown environment \`${name}\`${by};${suggestName(name, known)} known are ${known.join(', ')}`;
		throw invalidEnvironment(message, {name, known});
	}
	return {name, target: onStderr ? withStderr(target, onStderr) : target};
}

/** The only environment of the configuration with these labels; undefined where none has them, for a hub may know one. */
function findLabelled(given: string, {remotes, labels = new Map()}: EnvironmentSnapshot): string | undefined {
	const known = {names: [...remotes.keys()], labels};
	if (!selectsByLabels(given, known)) return undefined;
	const found = selectEnvironments(given, known);
	if (found.length === 1) return found[0];
	throw invalidEnvironment(`\`${given}\` stands for ${found.join(', ')}; name one of them, or use longarm each`);
}

/** Passes on the standard error of a server that is started for the connection. */
function withStderr(target: RemoteTarget, onStderr: (text: string) => void): RemoteTarget {
	if (!isTransportTarget(target) || !schemeOf(target).startsServer) return target;
	const withListener = {...target, onStderr};
	return withListener;
}
