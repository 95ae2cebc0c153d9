import {isatty} from 'node:tty';
import type {Environment} from '../../environments/environment.js';
import {parseTimeValue} from '../../shared/units.js';
import {findScheme} from '../../transports/node/registry.js';
import {parseRegistryAddress} from '../../transports/node/registry-scheme.js';
import type {OptionValues} from '../command-definition.js';
import {usageError} from '../exit-codes.js';
import {writeMessage} from './messages.js';

const STDERR = 2;
/** How long `--wait` without a time waits. */
const DEFAULT_WAIT = '10m';

/** How clients of a pool want to be placed. */
export interface PoolChoice {
	readonly waitMs: number | undefined;
	/** Called if the environment is one that a hub chooses the machine for. */
	readonly noticePool?: (() => void) | undefined;
}

/** `--wait`, with a time or without. */
export function readPoolChoice(wait: OptionValues[string]): PoolChoice {
	const text = typeof wait === 'string' ? wait : DEFAULT_WAIT;
	const waitMs = parseTimeValue(text);
	if (waitMs !== undefined) return {waitMs};
	throw usageError(`--wait ${text}: expected a time such as 30s or 2h; write --wait=TIME, or -- before the command`);
}

/** Name of the machine that a hub has chosen, for `-e`. Connects for it. */
export async function nameMember(environment: Environment): Promise<string> {
	const {id} = environment;
	const address = await environment.member();
	if (address === undefined) return id;
	return findScheme(id) ? address : `${id.split('/', 1)[0]}/${parseRegistryAddress(address).environmentId}`;
}

/** Tells on a terminal which machine was chosen: processes are found again there. */
export async function tellMember(member: Promise<string>, quiet: boolean): Promise<void> {
	// The command itself tells why it cannot connect.
	const name = await member.catch(() => undefined);
	if (name !== undefined && !quiet && isatty(STDERR)) writeMessage(`on ${name}`);
}
