import { Answers, settle, type Seen } from '../stage.ts'
import type { Cleaner, Storage } from './race.ts'

export async function demonstrate(module: {
  Cleaner: new (storage: Storage, idle: () => Promise<void>) => Pick<Cleaner, 'clean' | 'close'>
}): Promise<Seen> {
  let isClosed = false
  const storage: Storage = {
    removeOld: async () => {
      if (isClosed) throw new Error('the storage is closed')
      return 3
    },
    close: async () => void (isClosed = true),
  }
  const idle = new Answers<void>()
  const cleaner = new module.Cleaner(storage, idle.ask)
  const cleaning = cleaner.clean().then(
    () => undefined,
    (error: Error) => error,
  )
  await settle()
  await cleaner.close()
  idle.answer()
  const error = await cleaning
  return {
    happened: error !== undefined,
    what: error?.message ?? 'cleaning ended without an error',
  }
}
