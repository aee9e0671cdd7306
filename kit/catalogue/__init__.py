"""The course and the glossary: each lesson and each word once."""
