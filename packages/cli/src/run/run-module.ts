import path from 'node:path'
import { withoutPasswords, type RunModule } from '@heddle/core/lowlevel'
import type { RunSettings } from './run-settings.ts'

/** The module of a run as the journal keeps it. Arguments with a password are not recorded. */
export function moduleOf({ file, args }: Pick<RunSettings, 'file' | 'args'>): RunModule {
  const isSecret = args.some((arg) => withoutPasswords(arg) !== arg)
  return { file: path.resolve(file), ...(!isSecret && { args }) }
}
