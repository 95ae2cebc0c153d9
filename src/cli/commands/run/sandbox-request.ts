import {readFileSync} from 'node:fs';
import type {SandboxContext} from '../../../client/files/files.js';
import {createSandboxPolicy, SANDBOX_PRESETS, type SandboxPreset} from '../../../client/run/sandbox-policy.js';
import {sandboxContext} from '../../../protocol/methods/sandbox-params.js';
import {decode} from '../../../protocol/wire/decode.js';
import {suggestName} from '../../../shared/closest-name.js';
import {errorMessage} from '../../../shared/errors.js';
import {usageError} from '../../exit-codes.js';
import type {SandboxMaker} from './attach/start-attached.js';

/** The sandbox as it is asked for on the command line. */
export interface SandboxRequest {
	/** A usual policy by its name, or a file of this machine. */
	readonly policy: string | undefined;
	readonly writable: readonly string[];
	readonly network: boolean;
}

/** Throws for a request that cannot be meant, before anything is connected to. */
export function parseSandboxRequest({policy, writable, network}: SandboxRequest): SandboxMaker {
	if (policy === undefined) throw usageError('--writable and --network go with --sandbox');
	const option = readSandboxOption(policy);
	if (typeof option === 'object') {
		if (writable.length === 0 && !network) return () => option;
		throw usageError(
			'--writable and --network go with read-only and workspace-write; a policy of your own says it itself',
		);
	}
	return (cwd, resolve) => {
		try {
			return createSandboxPolicy(option, {cwd, writable: writable.map(resolve), network});
		} catch (error) {
			if (!(error instanceof TypeError)) throw error;
			throw usageError(`${error.message}; choose another one with --cwd`, error);
		}
	};
}

/** A usual policy by its name, or the policy in a file of this machine. */
export function readSandboxOption(policy: string): SandboxPreset | SandboxContext {
	return SANDBOX_PRESETS.find(name => name === policy) ?? readPolicy(policy);
}

function readPolicy(file: string): SandboxContext {
	let text: string;
	try {
		text = readFileSync(file, 'utf8');
	} catch (cause) {
		const near = suggestName(file, SANDBOX_PRESETS);
		const why = near === '' ? errorMessage(cause) : near.trim();
		throw usageError(
			`--sandbox ${file}: neither ${SANDBOX_PRESETS.join(' nor ')} nor a file that can be read; ${why}`,
			cause,
		);
	}
	try {
		const given: unknown = JSON.parse(text);
		// Means something on Windows only.
		const policy = isObject(given) ? {windowsSandboxLevel: 'disabled', ...given} : given;
		decode(sandboxContext, policy);
		return policy as SandboxContext;
	} catch (cause) {
		throw usageError(`--sandbox ${file} is no sandbox policy: ${errorMessage(cause)}`, cause);
	}
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === 'object' && value !== null;
}
