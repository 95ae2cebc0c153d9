/** Causes that are looked at: a chain may lead back to itself. */
const MAX_CAUSES = 8;

/** Advice that an error brings along, or one of its causes does. */
export function hintOf(error: unknown): string | undefined {
	let each = error;
	for (let depth = 0; depth < MAX_CAUSES && each instanceof Error; depth++) {
		const {hint} = each as {hint?: unknown};
		if (typeof hint === 'string') return hint;
		each = each.cause;
	}
	return undefined;
}
