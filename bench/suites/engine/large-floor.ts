/** What one writes without a library: `v8.serialize`, a temporary file, fsync, rename. */
import { mkdtemp, open, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { deserialize, serialize } from 'node:v8'
import type { KeepLarge } from './contract.ts'

export async function keepLarge(): Promise<KeepLarge> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-bench-'))
  return {
    async set(key, value) {
      const draft = path.join(folder, `${key}.draft`)
      const file = await open(draft, 'w')
      await file.writeFile(serialize(value))
      await file.sync()
      await file.close()
      await rename(draft, path.join(folder, key))
    },
    async readBack(key) {
      return deserialize(await readFile(path.join(folder, key)))
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
