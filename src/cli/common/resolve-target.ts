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
import {LOCAL, readSnapshot} from '../../environments/environment-provider.js';
import type {RemoteTarget} from '../../environments/remote/remote-target.js';
import {isSecure, withTrust} from '../../environments/remote/remote-trust.js';
import {invalidEnvironment, requireUrl} from '../../environments/remote/remote-url.js';
import {suggestName} from '../../shared/closest-name.js';
import {findScheme, isTransportTarget, schemeOf} from '../../transports/node/registry.js';
import type {TargetDescription} from '../../transports/node/transport-scheme.js';
import type {OpenOptions} from './environments.js';
import {givenTrust} from './given-trust.js';
import {writeMessage} from './messages.js';

const STDERR = 2;

/** The machine an address or a name stands for; not for `local`. */
export async function resolveTarget(given: string, options: OpenOptions = {}): Promise<RemoteTarget> {
	const target = withTrustOfVariables(parseTarget(given, options)) ?? (await findTarget(given, options));
	return withTrust(target, givenTrust(), given);
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
export async function resolveDefault(
	options: OpenOptions = {},
): Promise<{readonly name: string; readonly target: RemoteTarget} | undefined> {
	const {name, reason} = await readDefault(options);
	if (name === undefined) {
		const message = `there is no default environment: ${reason ?? 'the source of environments'} says so`;
		throw invalidEnvironment(`${message}; say where with -e, which may be ${LOCAL}`);
	}
	if (name === LOCAL) return undefined;
	const target = await resolveTarget(name, options);
	const {members, text} = describeTarget(target);
	const where = typeof members['url'] === 'string' ? members['url'] : text;
	// An address may hold a password; a name does not.
	const shown = findScheme(name) ? where : name;
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

async function findTarget(name: string, options: OpenOptions): Promise<RemoteTarget> {
	const {onStderr, provider = defaultProvider()} = options;
	const {remotes} = await readSnapshot(provider);
	const target = remotes.get(name);
	if (!target) {
		const known = [LOCAL, ...remotes.keys()];
		const by = process.env[ENVIRONMENT_VARIABLE]?.trim() === name ? ` of ${ENVIRONMENT_VARIABLE}` : '';
		const message = `unknown environment \`${name}\`${by};${suggestName(name, known)} known are ${known.join(', ')}`;
		throw invalidEnvironment(message, {name, known});
	}
	return onStderr ? withStderr(target, onStderr) : target;
}

/** Passes on the standard error of a server that is started for the connection. */
function withStderr(target: RemoteTarget, onStderr: (text: string) => void): RemoteTarget {
	if (!isTransportTarget(target) || !schemeOf(target).startsServer) return target;
	const withListener = {...target, onStderr};
	return withListener;
}
