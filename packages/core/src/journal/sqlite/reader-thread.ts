import { workerData } from 'node:worker_threads'
import { systemClock } from '../../kernel/clock.ts'
import { hostFile } from '../../sqlite/host-thread.ts'
import type { ReaderData } from './journal-messages.ts'
import { JournalReaderRole } from './reader-role.ts'

const pause = (): Promise<void> => new Promise((resume) => systemClock.afterIo(resume))
hostFile(new JournalReaderRole(workerData as ReaderData, pause), { looksOut: false })
