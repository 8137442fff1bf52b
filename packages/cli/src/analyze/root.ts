/** Where an analysis starts from: the paths in its answer are relative to it. */
import { stat } from 'node:fs/promises'
import path from 'node:path'

/**
 * The current folder, so that a terminal can open what is printed. Targets outside of it move it to the
 * folder that they share: paths with `..` in front can neither be compared nor opened.
 *
 * *Cancellation*: none; it asks for a few names.
 */
export async function rootOf(cwd: string, targets: readonly string[]): Promise<string> {
  const paths = targets.filter((target) => target !== '-').map((each) => path.resolve(cwd, each))
  if (paths.every((each) => isInside(cwd, each))) return cwd
  const folders = await Promise.all(paths.map(folderOf))
  return folders.reduce(common)
}

async function folderOf(target: string): Promise<string> {
  const isFolder = await stat(target).then(
    (found) => found.isDirectory(),
    () => false,
  )
  return isFolder ? target : path.dirname(target)
}

function isInside(folder: string, file: string): boolean {
  const relative = path.relative(folder, file)
  return relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative)
}

function common(a: string, b: string): string {
  let folder = a
  while (!isInside(folder, b)) folder = path.dirname(folder)
  return folder
}
