/** Checks that all stores of artifacts share. */
import { HeddleError } from '../errors.ts'
import {
  checkCount,
  checkFlag,
  checkMoment,
  checkOptions,
  checkSignal,
  checkText,
  type OptionNames,
} from '../kernel/check.ts'
import {
  defaultQuota,
  type ArtifactInfo,
  type ArtifactQuota,
  type ArtifactRange,
  type ArtifactUpload,
  type PutArtifactOptions,
} from './artifact-store.ts'

/** Characters of a name: a folder of any file system takes the file name made from it. */
const longestName = 200

const putNames = {
  by: 1,
  length: 1,
  sha256: 1,
  resumable: 1,
  start: 1,
  quota: 1,
  createdAt: 1,
  signal: 1,
} satisfies OptionNames<PutArtifactOptions>

const quotaNames = { bytes: 1, count: 1 } satisfies OptionNames<ArtifactQuota>
const rangeNames = { start: 1, end: 1 } satisfies OptionNames<ArtifactRange>

/** F4: control characters would end up in lists and headers. */
export function checkArtifactName(name: string): string {
  const isName =
    typeof name === 'string' && name !== '' && name.length <= longestName && !/\p{Cc}/u.test(name)
  if (isName && name.isWellFormed()) return name
  const expected = `a text of 1 to ${longestName} characters without control characters`
  throw new HeddleError('HDL_BAD_OPTION', { option: 'name of the artifact', value: name, expected })
}

export function checkQuota(quota: Partial<ArtifactQuota>, base = defaultQuota): ArtifactQuota {
  checkOptions(quota, quotaNames, 'quota')
  const { bytes = base.bytes, count = base.count } = quota
  return {
    bytes: checkCount('quota.bytes', bytes, 0, true),
    count: checkCount('quota.count', count, 0, true),
  }
}

/** A put whose options were checked. */
export interface CheckedPut extends Required<Pick<PutArtifactOptions, 'by' | 'start'>> {
  readonly length: number | undefined
  readonly sha256: string | undefined
  /** Set when received bytes are kept. */
  readonly upload: ArtifactUpload | undefined
  readonly quota: ArtifactQuota
  readonly createdAt: number | undefined
  readonly signal: AbortSignal | undefined
}

export function checkPut(options: PutArtifactOptions, base: ArtifactQuota): CheckedPut {
  checkOptions(options, putNames)
  const { by = '', length, sha256, resumable = false, start = 0, createdAt, signal } = options
  checkText('by', by)
  checkFlag('resumable', resumable)
  checkCount('start', start, 0)
  if (length !== undefined) checkCount('length', length, 0)
  if (sha256 !== undefined) checkChecksum(sha256)
  if (createdAt !== undefined) checkMoment('createdAt', createdAt)
  if (signal !== undefined) checkSignal('signal', signal)
  const quota = checkQuota(options.quota ?? {}, base)
  const put = { by, length, sha256, start, quota, createdAt, signal }
  if (!resumable) {
    if (start === 0) return { ...put, upload: undefined }
    const expected = '0 for an upload that is not resumable'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'start', value: start, expected })
  }
  if (length === undefined || sha256 === undefined) {
    const expected = 'false, or with length and sha256'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'resumable', value: true, expected })
  }
  return { ...put, upload: { length, sha256 } }
}

export function checkUpload({ length, sha256 }: ArtifactUpload): void {
  checkCount('length', length, 0)
  checkChecksum(sha256)
}

/** The bytes that are read of an artifact. */
export function checkRange(
  range: ArtifactRange,
  { length }: Pick<ArtifactInfo, 'length'>,
): Required<ArtifactRange> {
  checkOptions(range, rangeNames)
  const { start = 0, end = length } = range
  checkCount('start', start, 0)
  checkCount('end', end, 0)
  if (start <= end && end <= length) return { start, end }
  const expected = `a range inside of the ${length} bytes`
  throw new HeddleError('HDL_BAD_OPTION', { option: 'range', value: `${start}-${end}`, expected })
}

function checkChecksum(sha256: string): void {
  if (typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256)) return
  const expected = '64 hexadecimal digits, in small letters'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'sha256', value: sha256, expected })
}
