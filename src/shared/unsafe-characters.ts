/** Characters that move the cursor, change the terminal or the direction of the text. */
export const UNSAFE_CHARACTERS = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
