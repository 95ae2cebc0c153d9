/** Largest message either end accepts or sends, in bytes of JSON text. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** Largest single WebSocket frame either end accepts. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** Messages above this are sent in fragments of at most this size. */
export const FRAGMENT_BYTES = 8 * 1024 * 1024;
