/** Labels of an environment, by which several are selected at once. */
export type EnvironmentLabels = Readonly<Record<string, string>>;

/** Labels of one environment. */
export const MAX_LABELS = 64;
/** Characters of a key, and of a value. */
export const MAX_LABEL_CHARACTERS = 64;

/** Without the characters that mean something in a selector: comma, plus, at, equals. */
const WORD = /^[\w./-]+$/;

/** The reason why labels cannot be selected by; undefined if they can. */
export function findLabelsFault(labels: EnvironmentLabels): string | undefined {
	const pairs = Object.entries(labels);
	if (pairs.length > MAX_LABELS) return `has ${pairs.length} labels; ${MAX_LABELS} are allowed`;
	const wrong = pairs.find(([key, value]) => !isLabelWord(key) || !isLabelWord(value));
	if (!wrong) return undefined;
	return `has the label \`${wrong.join('=')}\`; keys and values are 1 to ${MAX_LABEL_CHARACTERS} ASCII letters, digits, '.', '_', '-' or '/'`;
}

export function isLabelWord(text: string): boolean {
	return text.length <= MAX_LABEL_CHARACTERS && WORD.test(text);
}

/** `os=linux arch=arm64`. */
export function formatLabels(labels: EnvironmentLabels): string {
	return Object.entries(labels)
		.map(pair => pair.join('='))
		.join(' ');
}
