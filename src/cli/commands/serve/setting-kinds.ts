import {isDeniedVariable} from '../../../network/http/header-variables.js';
import {isPoolName, MAX_POOLS, MAX_SLOTS} from '../../../protocol/relay/pool-selector.js';
import {type EnvironmentLabels, findLabelsFault} from '../../../shared/labels.js';
import {formatDuration, formatSize, parseDuration, parseSize} from '../../../shared/units.js';

/** A form of values: how they are read from text and shown. */
export interface Kind<T> {
	/** Stands for the value in help texts; none for a switch. */
	readonly placeholder: string | undefined;
	readonly expects: string;
	/** Whether the flag may be given several times; its values are joined by commas then. */
	readonly isList?: true;
	parse(text: string): T | undefined;
	format(value: T): string;
}

export const text: Kind<string> = {placeholder: 'URL', expects: 'text', parse: value => value, format: value => value};
export const flag: Kind<boolean> = {
	placeholder: undefined,
	expects: 'true or false',
	parse: value => ({true: true, '1': true, false: false, '0': false})[value.toLowerCase()],
	format: String,
};
/** A switch that is on by itself and so has to be told off. */
export const choiceOfFlag: Kind<boolean> = {...flag, placeholder: 'true|false'};
export const size: Kind<number> = {
	placeholder: 'SIZE',
	expects: 'a size such as 1048576, 512KiB or 8MiB',
	parse: parseSize,
	format: formatSize,
};
export const duration: Kind<number> = {
	placeholder: 'TIME',
	expects: 'a time such as 500ms, 30s or 5m',
	parse: parseDuration,
	format: formatDuration,
};
export const count: Kind<number> = {
	placeholder: 'N',
	expects: 'a positive whole number',
	parse: value => (/^[1-9]\d{0,14}$/.test(value) ? Number(value) : undefined),
	format: String,
};
export const origins: Kind<readonly string[]> = {
	placeholder: 'ORIGINS',
	expects: 'origins such as https://console.example, separated by commas',
	parse: value => {
		const list = value.split(',').map(each => each.trim());
		return list.every(isOrigin) ? list : undefined;
	},
	format: value => (value.length === 0 ? 'none' : value.join(',')),
};
export const registryUrls: Kind<readonly string[]> = {
	placeholder: 'URLS',
	expects: 'http or https URLs, separated by commas',
	// A wrong one is refused in the words of the registry's client.
	parse: value => value.split(',').map(each => each.trim()),
	format: value => (value.length === 0 ? 'none' : value.join(',')),
};
export const hostNames: Kind<readonly string[]> = {
	placeholder: 'NAMES',
	expects: 'names of hosts such as exec.example, separated by commas',
	parse: value => {
		const list = value.split(',').map(each => each.trim());
		return list.every(each => /^[\w-]+(?:\.[\w-]+)*\.?$/.test(each)) ? list : undefined;
	},
	format: value => (value.length === 0 ? 'none' : value.join(',')),
};
export const variableNames: Kind<readonly string[]> = {
	placeholder: 'NAMES',
	expects: '`none`, or names of variables such as MY_TOKEN, separated by commas, none of them one that is never sent',
	parse: value => {
		if (value === 'none') return [];
		const list = value.split(',').map(each => each.trim());
		return list.every(each => /^[A-Za-z_]\w*$/.test(each) && !isDeniedVariable(each)) ? list : undefined;
	},
	format: value => (value.length === 0 ? 'none' : value.join(',')),
};
export const poolNames: Kind<readonly string[]> = {
	placeholder: 'NAMES',
	expects: `up to ${MAX_POOLS} names of letters, digits, '.', '_' and '-', separated by commas`,
	isList: true,
	parse: value => {
		const list = [...new Set(value.split(',').map(each => each.trim()))];
		return list.length <= MAX_POOLS && list.every(isPoolName) ? list : undefined;
	},
	format: value => (value.length === 0 ? 'none' : value.join(',')),
};
export const labels: Kind<EnvironmentLabels> = {
	placeholder: 'LABELS',
	expects: "KEY=VALUE of letters, digits, '.', '_', '-' and '/', separated by commas",
	isList: true,
	parse: value => {
		const pairs = value.split(',').map(each => each.trim().split('='));
		const given = Object.fromEntries(pairs) as EnvironmentLabels;
		return pairs.every(({length}) => length === 2) && findLabelsFault(given) === undefined ? given : undefined;
	},
	format: value =>
		Object.entries(value)
			.map(pair => pair.join('='))
			.join(',') || 'none',
};
export const slotCount: Kind<number> = {
	placeholder: 'N',
	expects: `a whole number from 1 to ${MAX_SLOTS}`,
	parse: value => (/^[1-9]\d{0,5}$/.test(value) && Number(value) <= MAX_SLOTS ? Number(value) : undefined),
	format: String,
};
export const remoteTransport: Kind<'noise'> = {
	placeholder: 'noise',
	expects: 'noise, because the transport `direct` of codex is not end-to-end encrypted and not supported',
	parse: value => (value === 'noise' ? value : undefined),
	format: String,
};
export const filePath: Kind<string> = {...text, placeholder: 'FILE', expects: 'a file'};
export const whole: Kind<number> = {
	placeholder: 'N',
	expects: 'a whole number',
	parse: value => (/^\d{1,15}$/.test(value) ? Number(value) : undefined),
	format: String,
};
/** A setting that may be left out, which means something else than any value. */
export const optional = <T>(kind: Kind<T>, placeholder = kind.placeholder, unset = 'none'): Kind<T | undefined> => ({
	...kind,
	placeholder,
	format: value => (value === undefined ? unset : kind.format(value)),
});
export const upTo = (most: number): Kind<number> => ({
	placeholder: 'N',
	expects: `a whole number from 0 to ${most}`,
	parse: value => (/^\d{1,4}$/.test(value) && Number(value) <= most ? Number(value) : undefined),
	format: String,
});
export const niceness = upTo(19);
export const oomScore = upTo(1000);
export const choice = <const T extends string>(values: readonly T[]): Kind<T> => ({
	placeholder: values.join('|'),
	expects: `one of ${values.join(', ')}`,
	parse: value => values.find(each => each === value),
	format: String,
});

function isOrigin(value: string): boolean {
	return URL.canParse(value) && new URL(value).origin === value;
}
