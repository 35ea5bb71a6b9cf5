package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

type event struct {
	ID   string          `json:"id"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

func main() {
	key, err := keyOf(os.Getenv("WEBHOOK_SECRET"))
	if err != nil || len(key) == 0 { // anyone can sign with an empty key
		log.Fatal("Set WEBHOOK_SECRET to the webhook's secret.")
	}
	http.HandleFunc("POST /webhooks", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 10<<20))
		if err != nil || !isValid(body, r.Header, key) {
			http.Error(w, "invalid signature", http.StatusUnauthorized)
			return
		}
		var received event
		if err := json.Unmarshal(body, &received); err != nil {
			http.Error(w, "not an event", http.StatusBadRequest)
			return
		}
		handle(received) // the same event may arrive twice: skip IDs that you have already stored
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "3000"), nil))
}

func handle(received event) {
	if received.Type == "invoice.paid" {
		var data struct {
			ID          string `json:"id"`
			AmountMinor int64  `json:"amount_minor"`
			Currency    string `json:"currency"`
		}
		if err := json.Unmarshal(received.Data, &data); err == nil {
			fmt.Printf("%s is paid: %d %s\n", data.ID, data.AmountMinor, data.Currency)
		}
	}
}

func keyOf(secret string) ([]byte, error) {
	encoded, found := strings.CutPrefix(secret, "whsec_")
	if !found {
		return []byte(secret), nil
	}
	// The base64 padding may be missing.
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
}

func isValid(body []byte, header http.Header, key []byte) bool {
	sentAt, err := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(sentAt, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(header.Get("webhook-id") + "." + header.Get("webhook-timestamp") + "."))
	mac.Write(body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, given := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(expected), []byte(given)) {
			return true
		}
	}
	return false
}
