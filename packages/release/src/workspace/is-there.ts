import { access } from 'node:fs/promises'

/**
 * Whether a file or a folder exists and can be accessed.
 *
 * *Cancellation*: none; one question to the disk.
 */
export async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
