/** A small file system of its own, where mounting is possible. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export interface Mounted extends Disposable {
  readonly path: string
  makeReadOnly(): void
  /** Leaves so much space. */
  fill(kibibytesLeft: number): void
}

function mount(...args: string[]): string | undefined {
  const { status, stderr, error } = spawnSync('mount', args, { encoding: 'utf8' })
  if (error !== undefined) return error.message
  return status === 0 ? undefined : stderr.trim() || `mount ended with ${status}`
}

/** Or the reason why there is none. It belongs to root, or to the owner. */
export function mountSmall(
  kibibytes: number,
  owner?: { readonly uid: number; readonly gid: number },
): Mounted | string {
  if (process.platform !== 'linux') return 'only Linux has tmpfs'
  if (process.getuid?.() !== 0) return 'only root may mount a file system'
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-mounted-'))
  const owned = owner === undefined ? '' : `,uid=${owner.uid},gid=${owner.gid},mode=711`
  const problem = mount('-t', 'tmpfs', '-o', `size=${kibibytes}k${owned}`, 'tmpfs', folder)
  if (problem !== undefined) {
    rmSync(folder, { recursive: true })
    return `mounting is not possible here: ${problem}`
  }
  return {
    path: folder,
    makeReadOnly: () => {
      const failure = mount('-o', 'remount,ro', folder)
      if (failure !== undefined) throw new Error(failure)
    },
    fill: (kibibytesLeft) => {
      const { bavail, bsize } = statfsSync(folder)
      writeFileSync(path.join(folder, 'fill'), Buffer.alloc(bavail * bsize - kibibytesLeft * 1024))
    },
    [Symbol.dispose]: () => {
      spawnSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true })
    },
  }
}
