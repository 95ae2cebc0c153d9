import {type EnvironmentLabels, isLabelWord} from '../../shared/labels.js';

/** Pools of one executor. */
export const MAX_POOLS = 16;
/** Slots of one executor. */
export const MAX_SLOTS = 10_000;
/** Characters of the name of a pool. */
export const MAX_POOL_CHARACTERS = 64;
/** Labels that one selector asks for. */
export const MAX_SELECTED_LABELS = 16;

const POOL_MARK = 'pool:';
const LABEL_MARK = '@';
const AND = '+';
const POOL_NAME = /^[A-Za-z0-9][\w.-]*$/;

/** Executors of a hub that are meant alike: members of a pool, those with certain labels, or both. */
export interface PoolSelector {
	/** Undefined for executors of any pool and of none. */
	readonly pool: string | undefined;
	/** All of them have to be there; not empty without a pool. */
	readonly labels: EnvironmentLabels;
}

/** `pool:gpu`, `@os=linux+arch=arm64` or `pool:gpu+arch=arm64`; undefined for any other text. */
export function parsePoolSelector(text: string): PoolSelector | undefined {
	const isPool = text.startsWith(POOL_MARK);
	if (!isPool && !text.startsWith(LABEL_MARK)) return undefined;
	const [first = '', ...rest] = text.slice(isPool ? POOL_MARK.length : LABEL_MARK.length).split(AND);
	if (isPool && !isPoolName(first)) return undefined;
	const labels = parsePairs(isPool ? rest : [first, ...rest]);
	return labels && {pool: isPool ? first : undefined, labels};
}

/** Whether a text begins as a selector does; it may still be a wrong one. */
export function isMeantAsPool(text: string): boolean {
	return text.startsWith(POOL_MARK) || text.startsWith(LABEL_MARK);
}

/** The text that `parsePoolSelector` reads as this selector. */
export function formatPoolSelector({pool, labels}: PoolSelector): string {
	const pairs = Object.entries(labels).map(pair => pair.join('='));
	return pool === undefined ? `${LABEL_MARK}${pairs.join(AND)}` : [`${POOL_MARK}${pool}`, ...pairs].join(AND);
}

/** Whether an executor with these pools and labels is meant. */
export function matchesPool(
	{pool, labels}: PoolSelector,
	executor: {readonly pools: readonly string[]; readonly labels: EnvironmentLabels},
): boolean {
	if (pool !== undefined && !executor.pools.includes(pool)) return false;
	return Object.entries(labels).every(([key, value]) => readLabel(executor.labels, key) === value);
}

export function isPoolName(text: string): boolean {
	return text.length <= MAX_POOL_CHARACTERS && POOL_NAME.test(text);
}

/** Undefined for pairs that cannot be meant: of another form, too many, or one key with two values. */
function parsePairs(pairs: readonly string[]): EnvironmentLabels | undefined {
	if (pairs.length > MAX_SELECTED_LABELS) return undefined;
	const labels = new Map<string, string>();
	for (const pair of pairs) {
		const [key = '', value = '', ...rest] = pair.split('=');
		if (rest.length > 0 || !isLabelWord(key) || !isLabelWord(value)) return undefined;
		if ((labels.get(key) ?? value) !== value) return undefined;
		labels.set(key, value);
	}
	return Object.fromEntries(labels);
}

/** A label of an executor, none of what every object has. */
function readLabel(labels: EnvironmentLabels, key: string): string | undefined {
	return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
