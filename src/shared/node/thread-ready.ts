/** First message of a thread of `LimitedThreads`: its modules are loaded, and the time for its work begins. */
export const THREAD_READY = 'ready';
