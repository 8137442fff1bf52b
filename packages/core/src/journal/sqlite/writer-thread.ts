import { workerData } from 'node:worker_threads'
import { hostFile } from '../../sqlite/host-thread.ts'
import type { WriterData } from './journal-messages.ts'
import { JournalWriterRole } from './writer-role.ts'

hostFile(new JournalWriterRole(workerData as WriterData), { looksOut: true })
