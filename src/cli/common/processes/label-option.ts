import type {OptionDefinition} from '../../command-definition.js';
import {usageError} from '../../exit-codes.js';

export const LABEL_FILTER_OPTION: OptionDefinition = {
	flags: '--label <KEY=VALUE>',
	help: 'only processes with this label; may be given several times',
	isRepeated: true,
};

/** Labels as they are given on the command line. */
export function parseLabels(given: readonly string[]): Record<string, string> {
	return Object.fromEntries(
		given.map(text => {
			const at = text.indexOf('=');
			if (at <= 0) throw usageError(`--label ${text}: expected KEY=VALUE`);
			return [text.slice(0, at), text.slice(at + 1)];
		}),
	);
}
