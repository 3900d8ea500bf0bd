/** `backup-2026-11-15T02-39-06.838Z.db`: names sort by time. */
export const backupName = (kind: string) => `${kind}-${new Date().toISOString().replaceAll(':', '-')}.db`
