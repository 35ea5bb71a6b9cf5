import type { EventData } from './event-data.js';

// Generated from packages/server/catalogue.json. To change it, change that file, then run
// UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts

/** A realistic example of `data` for each event type. */
export const eventSamples: EventData = JSON.parse(`{
"service_line.activated": {"previous_status":"draft","new_status":"active","execution_model":"managed","product_line":"customer_support"},
"service_line.paused": {"id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","previous_status":"active","new_status":"paused","reason":"The customer asked to pause during stocktaking.","resume_expected_at":"2026-08-17T07:00:00.000Z"},
"service_line.closed": {"id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","previous_status":"active","new_status":"closed","reason":"The contract ended.","final_invoice_id":"INV-01K1RB6W8Y0A2C4E6G8J0M2P4R"},
"service_line.status_changed": {"id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","previous_status":"paused","new_status":"active","reason":"Stocktaking is over."},
"invoice.finalized": {"id":"INV-01K1RB6W8Y0A2C4E6G8J0M2P4R","previous_status":"draft","new_status":"open","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","number":"2026-000418","amount_minor":1249900,"currency":"EUR","due_at":"2026-08-31T22:00:00.000Z"},
"invoice.paid": {"id":"INV-01K1RB6W8Y0A2C4E6G8J0M2P4R","previous_status":"open","new_status":"paid","amount_minor":1249900,"currency":"EUR","payment_method":"sepa_debit","paid_at":"2026-08-12T09:41:27.318Z"},
"invoice.payment_failed": {"id":"INV-01K1RB6W8Y0A2C4E6G8J0M2P4R","amount_minor":1249900,"currency":"EUR","payment_method":"sepa_debit","failure_code":"insufficient_funds","failure_reason":"The account balance is too low.","attempt":1,"next_attempt_at":"2026-08-15T06:00:00.000Z"},
"invoice.voided": {"id":"INV-01K1RB6W8Y0A2C4E6G8J0M2P4R","previous_status":"open","new_status":"voided","amount_minor":1249900,"currency":"EUR","reason":"Billed twice for July."},
"incident.opened": {"id":"INC-01K1RD9Z1B3D5F7H9K1N3Q5S7T","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","severity":"p1","title":"Order confirmations are sent an hour late"},
"incident.resolved": {"id":"INC-01K1RD9Z1B3D5F7H9K1N3Q5S7T","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","previous_status":"open","new_status":"resolved","severity":"p1","resolution":"The stuck mail queue was restarted and has caught up.","duration_ms":4380000},
"incident.severity_changed": {"id":"INC-01K1RD9Z1B3D5F7H9K1N3Q5S7T","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","previous_severity":"p2","new_severity":"p1","reason":"A second region is affected."},
"agent.run.started": {"id":"RUN-01K1RF2E4G6J8M0P2R4T6V8X0Z","agent_id":"AGT-01K1Q4C2E4G6J8M0P2R4T6V8X0","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","task_id":"TSK-01K1RKX9Z1B3D5F7H9K1N3Q5S7","trigger":"task_assigned"},
"agent.run.completed": {"service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","duration_ms":48210,"tokens_used":18734,"outcome":"success"},
"agent.run.failed": {"id":"RUN-01K1RF2E4G6J8M0P2R4T6V8X0Z","agent_id":"AGT-01K1Q4C2E4G6J8M0P2R4T6V8X0","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","duration_ms":120000,"tokens_used":9120,"error_code":"tool_timeout","error_message":"The ticket system did not respond within 120 s.","retryable":true},
"agent.policy_violated": {"id":"AGT-01K1Q4C2E4G6J8M0P2R4T6V8X0","run_id":"RUN-01K1RF2E4G6J8M0P2R4T6V8X0Z","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","policy":"refund_limit","action":"Refund of EUR 640.00 without approval.","blocked":true},
"user.invited": {"id":"USR-01K1PZ5H7K9N1Q3S5V7X9Z1B3D","email":"mira.oyelaran@example.com","role":"operator","invited_by":"USR-01K1Q0K9N1Q3S5V7X9Z1B3D5F7","expires_at":"2026-08-19T08:15:00.000Z"},
"user.role_changed": {"id":"USR-01K1PZ5H7K9N1Q3S5V7X9Z1B3D","previous_role":"operator","new_role":"admin","changed_by":"USR-01K1Q0K9N1Q3S5V7X9Z1B3D5F7"},
"user.deactivated": {"id":"USR-01K1PZ5H7K9N1Q3S5V7X9Z1B3D","previous_status":"active","new_status":"deactivated","reason":"Left the company.","deactivated_by":"USR-01K1Q0K9N1Q3S5V7X9Z1B3D5F7"},
"integration.connected": {"id":"INT-01K1QGT6V8X0Z2B4D6F8H0K2M4","provider":"zendesk","previous_status":"pending","new_status":"connected","scopes":["tickets:read","tickets:write"]},
"integration.sync_failed": {"id":"INT-01K1QGT6V8X0Z2B4D6F8H0K2M4","provider":"zendesk","error_code":"rate_limited","error_message":"The provider refused further requests for 15 minutes.","records_synced":312,"last_success_at":"2026-08-12T05:00:41.902Z","next_attempt_at":"2026-08-12T06:15:00.000Z"},
"integration.disconnected": {"id":"INT-01K1QGT6V8X0Z2B4D6F8H0K2M4","provider":"zendesk","previous_status":"connected","new_status":"disconnected","reason":"Access was revoked at the provider."},
"execution.blocked": {"id":"EXE-01K1RHQ3S5V7X9Z1B3D5F7H9K1","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","task_id":"TSK-01K1RKX9Z1B3D5F7H9K1N3Q5S7","previous_status":"running","new_status":"blocked","reason":"The refund has not been approved yet."},
"execution.resumed": {"id":"EXE-01K1RHQ3S5V7X9Z1B3D5F7H9K1","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","task_id":"TSK-01K1RKX9Z1B3D5F7H9K1N3Q5S7","previous_status":"blocked","new_status":"running","resolution":"The refund was approved.","blocked_ms":1542000},
"capacity.utilisation_warning": {"id":"CAP-01K1QM4G6J8M0P2R4T6V8X0Z2B","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","utilisation":0.93,"threshold":0.9,"window_ms":3600000},
"capacity.gap_detected": {"id":"CAP-01K1QM4G6J8M0P2R4T6V8X0Z2B","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","skill":"second_level_support","required_hours":184,"available_hours":152.5,"starts_at":"2026-08-17T00:00:00.000Z","ends_at":"2026-08-24T00:00:00.000Z"},
"task.created": {"id":"TSK-01K1RKX9Z1B3D5F7H9K1N3Q5S7","title":"Answer the complaint about order 88213","status":"open","priority":"high","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","assignee_id":null,"due_at":"2026-08-13T16:00:00.000Z"},
"task.status_changed": {"id":"TSK-01K1RKX9Z1B3D5F7H9K1N3Q5S7","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","previous_status":"in_progress","new_status":"done","reason":"The customer confirmed."},
"task.assigned": {"id":"TSK-01K1RKX9Z1B3D5F7H9K1N3Q5S7","service_line_id":"LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA","assignee_type":"agent","assignee_id":"AGT-01K1Q4C2E4G6J8M0P2R4T6V8X0","previous_assignee_id":null},
"webhook.delivery_failed": {"webhook_id":"WHK-01K1QPB4D6F8H0K2M4P6R8T0V2","delivery_id":"WDLV-01K1RMS5V7X9Z1B3D5F7H9K1N3","event_id":"EVT-01K1RMR3S5V7X9Z1B3D5F7H9K1","event_type":"webhook.verification_failed","attempts":5,"http_status":503,"error":null,"last_attempt_at":"2026-08-12T12:17:42.118Z"},
"webhook.verification_failed": {"webhook_id":"WHK-01K1QPB4D6F8H0K2M4P6R8T0V2","reason":"timeout","http_status":null,"duration_ms":5000},
"webhook.disabled": {"webhook_id":"WHK-01K1QPB4D6F8H0K2M4P6R8T0V2","reason":"gone"},
"webhook.failing": {"webhook_id":"WHK-01K1QPB4D6F8H0K2M4P6R8T0V2","url":"https://example.com/webhooks","since":"2026-11-15T09:30:00.000Z","failed_attempts":5,"error":null,"http_status":500,"error_detail":"The receiver failed with 500.","remedy":"Look at its logs around 15 Nov 2026 09:30:04 UTC."},
"webhook.recovered": {"webhook_id":"WHK-01K1QPB4D6F8H0K2M4P6R8T0V2","url":"https://example.com/webhooks","failing_since":"2026-11-15T09:30:00.000Z","failed_attempts":12}
}`);
