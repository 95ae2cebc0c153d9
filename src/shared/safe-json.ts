/** Control characters beyond ASCII, which JSON leaves as they are, and those that change the direction of the text. */
const ACTING = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** JSON of the same value that a terminal may show, whoever wrote the texts in it; undefined for what JSON has no form. */
export function toSafeJson(value: unknown, indent?: string): string | undefined {
	const text = JSON.stringify(value, undefined, indent) as string | undefined;
	return text === undefined ? undefined : escapeActing(text);
}

/** Escapes what JSON leaves as it is and terminals obey. */
export function escapeActing(text: string): string {
	return text.replace(ACTING, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
