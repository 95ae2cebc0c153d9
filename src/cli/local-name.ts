/** What this machine is called among environments. */
export const LOCAL = 'local';
