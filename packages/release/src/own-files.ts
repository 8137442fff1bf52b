/** Where journals and locks are in a folder without Git, and those of other runs anywhere. */
export const ownFolder = '.heddle'

/**
 * Whether a file below a package is one of those: it belongs to this machine and changes while the
 * package is packed. `file` has `/` on all systems.
 */
export function isOurs(file: string): boolean {
  return file.split('/').slice(0, -1).includes(ownFolder)
}
