package directory

import "bursar/internal/db"

// declareCommon adds those of the words to the list that have become common, and returns them. The index may leave them out once the
// transaction is committed, not before.
func declareCommon(tx *db.Tx, workspace int64, doubtful []string) (common []string, err error) {
	for _, word := range doubtful {
		n, err := frequency(tx.Q, workspace, word)
		if err != nil {
			return nil, err
		}
		if n < commonThreshold {
			continue
		}
		if err := tx.Exec(`INSERT INTO directory_common_word (workspace_number, word) VALUES ($1, $2) ON CONFLICT DO NOTHING`, workspace, word); err != nil {
			return nil, err
		}
		common = append(common, word)
	}
	return common, nil
}
