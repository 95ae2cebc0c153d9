/**
 * Whether a name matches a pattern, as texts or as lists of characters: `*` is any run, `?` one character, everything else itself. On a
 * mismatch only the latest `*` takes one more character, so time is bounded by the product of the lengths.
 */
export function matchesWildcards(pattern: string | readonly string[], name: string | readonly string[]): boolean {
	let at = 0;
	let star = -1;
	let resumeAt = 0;
	for (let index = 0; index < name.length; ) {
		if (pattern[at] === '*') {
			star = at++;
			resumeAt = index;
		} else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === name[index])) {
			at++;
			index++;
		} else if (star >= 0) {
			at = star + 1;
			index = ++resumeAt;
		} else {
			return false;
		}
	}
	while (pattern[at] === '*') at++;
	return at === pattern.length;
}
