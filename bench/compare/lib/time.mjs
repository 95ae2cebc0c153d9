/** Milliseconds on a clock that never jumps. */
export const now = () => performance.now();
